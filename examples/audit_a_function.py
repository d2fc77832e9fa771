"""Audit a function whose bias is known, and see the audit find it.

The function calls a picture "suspicious" when its left half is dark. Glasses cannot matter much to it; light from the
right must.
"""

import transect


def suspicious(pixels):
    """Probability of yes, from uint8 pixels [n, h, w, 3]."""
    left = pixels[:, :, : pixels.shape[2] // 2].mean(axis=(1, 2, 3))
    return 1 - left / 255


result = transect.audit(
    suspicious,
    vary={"light_azimuth": (-60, 0, 60), "glasses": (0, 2)},  # none, and a thick frame
    subjects=12,
    image_size=48,
    outcomes=["score"],
    out="runs/suspicious",
    quiet=True,
)
for effect in result.effects:
    print(f"{effect.name:30} {effect.estimate:+z.3f}  95 % interval {effect.low:+z.3f} to {effect.high:+z.3f}")
print("report:", result.page)
