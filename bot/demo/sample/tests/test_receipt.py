import unittest

from teashop.basket import Basket
from teashop.receipt import receipt


class ReceiptTest(unittest.TestCase):
    def test_it_lists_what_was_bought(self):
        basket = Basket()
        basket.add("Assam", 450)
        self.assertIn("1 x Assam", receipt(basket))
