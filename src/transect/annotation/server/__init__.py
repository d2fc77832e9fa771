"""The web application: pages for raters and for the administrator, and the interface that the pages use."""
