"""StyleGAN2 in plain PyTorch, written from the papers: Karras et al. 2019 and 2020, arXiv:1812.04948, 1912.04958."""
