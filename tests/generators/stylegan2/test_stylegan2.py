"""StyleGAN2 against the reference implementation's answers, and against slow oracles of its parts."""

import numpy as np
import pytest
import torch
from places import SHARED
from safetensors.torch import save_file
from small_network import weights

from transect.errors import BadInput
from transect.generators import load
from transect.generators.stylegan2.generator import StyleGAN2
from transect.generators.stylegan2.network import Configuration, make_filter, modulated_convolution, upsample
from transect.generators.stylegan2.reading import Weights
from transect.records import Latents
from transect.testing import check_generator

REFERENCE = SHARED / "stylegan2_reference.safetensors"


@pytest.fixture(scope="module")
def reference():
    if not REFERENCE.exists():
        pytest.skip(f"{REFERENCE.name}: the reference's answers are not here")
    from safetensors.torch import load_file

    return load_file(REFERENCE)


def of_reference(tensors, name, **options):
    prefix = f"{name}.weights."
    held = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
    return StyleGAN2(Weights(held), **options)


@pytest.mark.parametrize(("name", "label"), [("plain64", None), ("cond32", 0)])
def test_it_answers_as_the_reference_does(reference, name, label):
    """Agreement asked for: 1e-4 in w, 1e-3 of the 0..1 scale in images; float32 gives far better."""
    network = of_reference(reference, name, label=label)
    z, c = reference[f"{name}.z"], reference.get(f"{name}.c")
    w, drawn = network.map(z, c=c), network.map(z, 0.6, c)
    torch.testing.assert_close(w, reference[f"{name}.w"], rtol=0, atol=1e-5)
    torch.testing.assert_close(drawn, reference[f"{name}.w_truncated_06"], rtol=0, atol=1e-5)
    mixed = w.clone()
    mixed[:, network.layers // 2 :] = w.roll(1, 0)[:, network.layers // 2 :]
    answers = {
        "image_noise_const": network.synthesize(w, "const"),
        "image_noise_none": network.synthesize(w, "none"),
        "image_truncated_noise_const": network.synthesize(drawn, "const"),
        "image_style_mix_half_noise_none": network.synthesize(mixed, "none"),
    }
    for key, answer in answers.items():
        torch.testing.assert_close(answer, reference[f"{name}.{key}"], rtol=0, atol=1e-4)


def test_upsampling_is_zeros_between_and_a_convolution():
    """Oracle: the sum over all taps, written out."""
    image, taps = torch.randn(1, 2, 3, 3, dtype=torch.float64), make_filter().double()
    spread = np.zeros((2, 6 + 3, 6 + 3))
    spread[:, 2:8:2, 2:8:2] = image[0].numpy()
    expected = np.zeros((2, 6, 6))
    for i in range(6):
        for j in range(6):
            window = spread[:, i : i + 4, j : j + 4]
            expected[:, i, j] = 4 * (window * taps.numpy()[::-1, ::-1]).sum((1, 2))
    np.testing.assert_allclose(upsample(image, taps)[0].numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("up", [False, True])
def test_modulated_convolution_is_a_convolution_with_scaled_kernels(up):
    """Karras et al. 2020, equations 1 and 3: kernels w_ijk = s_i w_ijk, over their norm, one image at a time."""
    x, weight = torch.randn(2, 3, 5, 5, dtype=torch.float64), torch.randn(4, 3, 3, 3, dtype=torch.float64)
    styles, taps = torch.randn(2, 3, dtype=torch.float64), make_filter().double()
    answer = modulated_convolution(x, weight, styles, taps if up else None)
    for image, style, output in zip(x, styles, answer, strict=True):
        scaled = weight * style[None, :, None, None]
        kernel = scaled / (scaled.square().sum((1, 2, 3), keepdim=True) + 1e-8).sqrt()
        if up:
            wide = torch.nn.functional.conv_transpose2d(image[None], kernel.transpose(0, 1), stride=2)
            wide = torch.nn.functional.pad(wide, (1, 1, 1, 1))
            expected = torch.nn.functional.conv2d(wide, (4 * taps).expand(4, 1, 4, 4), groups=4)[0]
        else:
            expected = torch.nn.functional.conv2d(image[None], kernel, padding=1)[0]
        torch.testing.assert_close(output, expected, rtol=0, atol=1e-10)


def small(**options):
    return StyleGAN2(Weights(weights()), **options)


def test_it_keeps_the_generator_contract():
    check_generator(small(), seeds=[0, 1, 2, 5])
    check_generator(small(noise="seed", truncation=0.7), seeds=[0, 1, 2, 5])


def test_spaces_lead_to_the_same_picture():
    """z, its w, that w in every layer, and the styles of it are one picture."""
    network = small()
    seeds = np.arange(3)
    z = network.sample(seeds)
    pixels = network.render(z).pixels
    plus = network.map(torch.from_numpy(z.values))
    spaces = {
        "w": plus[:, 0],
        "w+": plus.flatten(1),
        "s": torch.cat(network.styles(plus), dim=1),
    }
    for space, values in spaces.items():
        same = network.render(Latents(seeds, values.double().numpy(), space)).pixels
        assert np.abs(same.astype(int) - pixels).max() <= 1, space
    assert len(np.unique(pixels)) > 50


def test_truncation_zero_is_the_average():
    network = small(truncation=0.0)
    w = network.map(torch.randn(2, 8))
    torch.testing.assert_close(w, weights()["mapping.w_avg"].expand(2, 6, 8), rtol=0, atol=1e-6)


def test_noise_of_a_seed_is_the_subjects_own():
    network = small(noise="seed")
    w = network.map(torch.zeros(1, 8))
    first, again, other = (network.synthesize(w, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)


def test_an_average_that_is_missing_is_estimated():
    """The estimate is the mean of 10,000 w; its standard error is a hundredth of their spread."""
    held = weights()
    del held["mapping.w_avg"]
    network = StyleGAN2(Weights(held))
    w = network.map(torch.randn(20_000, 8), 1.0)[:, 0]
    average = network.map(torch.randn(1, 8), 0.0)[0, 0]
    assert (average - w.mean(0)).abs().max() < 5 * w.std(0).max() / 70


def test_a_clamp_cuts_activations():
    open_, cut = small(), StyleGAN2(Weights(weights(), clamp=0.05))
    w = open_.map(torch.randn(1, 8))
    assert open_.synthesize(w).abs().max() > 0.2
    # Every color layer adds at most .05, and upsampling by positive taps of sum 1 does not exceed that.
    assert cut.synthesize(w).abs().max() <= 3 * 0.05 + 1e-6


def test_a_class_is_asked_for_and_counts():
    held = Weights(weights(CONDITIONAL))
    with pytest.raises(BadInput, match="label: the network has no classes, got 1"):
        small(label=1)
    pictures = [StyleGAN2(held, label=label).render(StyleGAN2(held, label=0).sample([4])).pixels for label in (0, 1)]
    assert not np.array_equal(*pictures)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("synthesis.b8.conv1.bias"), "it lacks synthesis.b8.conv1.bias"),
        (lambda w: w["synthesis.b8.conv0.weight"].fill_(np.nan), "NaN or infinity in synthesis.b8.conv0.weight"),
        (lambda w: [w.pop(k) for k in list(w) if "b8" in k], "expected blocks of 4, 8, 16 ... pixels, found 4, 16"),
        (lambda w: w.update({"synthesis.b8.skip.weight": torch.zeros(1)}), "found the residual one"),
        (lambda w: w.update({"mapping.fc0.weight": torch.zeros(8)}), r"fc0.weight: expected 2 axes .*, got \[8\]"),
        (lambda w: w.update({"mapping.fc0.weight": torch.zeros(10**9, 0)}), "expected 2 axes that are not empty"),
        # a few numbers that ask for 400 GB of kernels: refused by their shapes, without making them
        (
            lambda w: w.update({f"synthesis.b{s}.conv1.weight": torch.zeros(10**5, 1, 1, 1) for s in (4, 8)}),
            "of shape",
        ),
    ],
)
def test_unsound_weights_are_named(change, message):
    held = weights()
    change(held)
    with pytest.raises(BadInput, match=message):
        StyleGAN2(Weights(held))


def test_latents_of_another_generator_are_refused():
    network = small()
    for space, width, message in [
        ("u", 8, "expected space z, w, w\\+ or s, got 'u'"),
        ("w", 9, "space w: expected 8 coordinates, got 9"),
        ("z", 5, r"z: expected \[b, 8\], got \[1, 5\]"),
    ]:
        with pytest.raises(BadInput, match=message):
            network.render(Latents(np.arange(1), np.zeros((1, width)), space))


CONDITIONAL = Configuration(z_dim=8, w_dim=8, classes=3, mapping_layers=2, channels={4: 6, 8: 4})


@pytest.fixture(scope="module")
def conditional_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("conditional") / "c.safetensors"
    save_file(weights(CONDITIONAL), path)
    return path


def test_options_after_the_file_are_the_networks(conditional_file):
    """The same pictures as of the network made with them, and other ones than of another class."""
    generator = load(f"{conditional_file}?label=2&truncation=0.5&noise=none")
    same = StyleGAN2(Weights(weights(CONDITIONAL)), label=2, truncation=0.5, noise="none")
    described = generator.describe()
    assert (described["label"], described["truncation"], described["noise"]) == (2, 0.5, "none")
    latents = generator.sample([1, 2])
    np.testing.assert_array_equal(generator.render(latents).pixels, same.render(latents).pixels)
    other = load(f"{conditional_file}?label=1&truncation=0.5&noise=none")
    assert (other.render(latents).pixels != generator.render(latents).pixels).any()


def test_a_conditional_network_needs_a_class_where_z_is_mapped(conditional_file):
    """It loads without one: classes can be told to `map`, as tensors or arrays, a row for each z."""
    network = load(conditional_file)
    with pytest.raises(
        BadInput, match=r"expected a class from 0 to 2, got None; choose one, as in file.safetensors\?l"
    ):
        network.render(network.sample([1]))
    z = network.sample([1, 2]).values
    chosen = np.eye(3)[[2, 0]]
    classes = [load(f"{conditional_file}?label={label}").map(z)[row] for row, label in enumerate((2, 0))]
    torch.testing.assert_close(network.map(z, c=chosen), torch.stack(classes), rtol=0, atol=1e-6)
    with pytest.raises(BadInput, match=r"c: expected one-hot classes \[2, 3\], got \[1, 3\]"):
        network.map(z, c=chosen[:1])


def test_the_average_of_a_conditional_network_is_over_its_classes(tmp_path):
    """The mean w of a file without it: that of each class, averaged (10,000 draws: within a hundredth)."""
    held = {name: value for name, value in weights(CONDITIONAL).items() if name != "mapping.w_avg"}
    save_file(held, tmp_path / "c.safetensors")
    each = [load(f"{tmp_path / 'c.safetensors'}?label={label}").average for label in range(3)]
    assert (each[0] - each[1]).abs().max() > 0.02
    torch.testing.assert_close(
        load(tmp_path / "c.safetensors").average, torch.stack(each).mean(dim=0), rtol=0, atol=0.01
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?label=3", "label: expected a class from 0 to 2, got 3"),
        ("?label=-1", "label: expected a class number"),
        ("?label=1&label=2", "label is given twice, the second time as '2'"),
        ("?label=1&truncation=nan", "truncation: expected a number from 0 to 1, got 'nan'"),
        ("?label=1&noise=loud", "noise: expected one of const, none, seed, got 'loud'"),
    ],
)
def test_options_that_do_not_do_are_one_line(conditional_file, query, message):
    with pytest.raises(BadInput, match=message):
        load(f"{conditional_file}{query}")
