"""The members of a world that a test of its attributes never calls."""


class WithoutPictures:
    """A base of small worlds whose attributes are read, and whose images nobody renders."""

    name = "small"
    image_size = 8
    latent_dim = 4

    def render(self, latents):
        raise AssertionError("this world has no pictures")

    def set(self, latents, values, hold=()):
        raise AssertionError("this world sets nothing")
