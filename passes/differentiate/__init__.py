"""Derivatives of ragged programs: tables of rules by op class, and what applies them."""
