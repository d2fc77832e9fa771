from .page import build as build
from .page import write as write
from .records import Box as Box
from .records import Example as Example
from .records import Gallery as Gallery
from .records import Strip as Strip
from .results import schema as schema
from .sheets import contact_sheet as contact_sheet
