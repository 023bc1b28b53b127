# %% [markdown]
# # Point clouds: scenes of objects of points
#
# Two ragged levels: a scene has any number of objects, an object any number of points, a point three
# coordinates. Everything below is one expression over all scenes; empty scenes and objects are legal.

# %%
from __future__ import annotations

from typing import Any

import numpy as np

import ragged_dialect as rg

rng = np.random.default_rng(0)
objects = [3, 0, 2, 5]  # per scene
points = rng.integers(1, 400, sum(objects))  # per object
points[4] = 0  # an object that nothing was seen of
centres = np.repeat(rng.uniform(-20, 20, (len(points), 3)), points, axis=0)
clouds = rg.from_lengths((centres + rng.normal(0, 1, centres.shape)).astype(np.float32), objects, points)
print(clouds)

# %% [markdown]
# ## Centroids
#
# A mean over the points, dim 2, leaves scenes of objects: `[4, ~, 3]`. The mean of no point is nan.

# %%
centroids = clouds.mean(axis=2)
print(centroids)

# %% [markdown]
# ## Every object in a unit ball around 0
#
# `centroids[:, :, None]` has one row per object, which broadcasts over the object's points. The norms of
# the points are `[4, ~, ~]`, their maxima `[4, ~]`.


# %%
@rg.jit
def normalise(clouds: Any) -> Any:
    """Points of every object relative to its centroid, the farthest at distance 1."""
    centred = clouds - clouds.mean(axis=2)[:, :, None]
    norms = np.sqrt((centred * centred).sum(axis=3))
    return centred / norms.max(axis=2)[:, :, None, None]


unit = normalise(clouds)
radii = np.sqrt((unit * unit).sum(axis=3)).max(axis=2)
print("radii:", [[round(radius, 6) for radius in scene] for scene in radii.tolist()])

# %% [markdown]
# ## The point of every object that is nearest to the sensor
#
# A ragged mask keeps, in every object, the points whose distance is the object's smallest. `argmin` gives
# their indices, -1 for an object without points.

# %%
distances = np.sqrt((clouds * clouds).sum(axis=3))
smallest = distances.min(axis=2)
nearest = clouds[distances == smallest[:, :, None]]
print("index:", distances.argmin(axis=2).tolist())
print("distance:", [[round(d, 2) for d in scene] for scene in smallest.tolist()])
print("points kept per object:", nearest.lengths_of(2).tolist())
for cloud, index, kept in zip(clouds[3], distances.argmin(axis=2)[3], nearest[3], strict=True):
    assert (kept[0] == cloud[index]).all()

# %% [markdown]
# ## Levels come and go
#
# Merging the two ragged levels gives the points of a scene, whatever object they belong to.

# %%
scenes = rg.merge(clouds, axis=1)
print(scenes.shape, "points per scene:", scenes.lengths.tolist())
low, high = scenes.min(axis=1), scenes.max(axis=1)
print("extent of the first scene:", [round(float(extent), 2) for extent in (high - low)[0]])
assert scenes.lengths.tolist() == [sum(len(cloud) for cloud in scene) for scene in clouds.tolist()]
