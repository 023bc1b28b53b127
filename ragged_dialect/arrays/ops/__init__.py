"""Operations that compute, each defined once on tracers."""
