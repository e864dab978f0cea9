import unittest

from teashop.basket import Basket


class BasketTest(unittest.TestCase):
    def test_an_empty_basket_costs_nothing(self):
        self.assertEqual(Basket().total(), 0)

    def test_a_basket_costs_what_is_in_it(self):
        basket = Basket()
        basket.add("Assam", 450)
        basket.add("Sencha", 620)
        self.assertEqual(basket.total(), 1070)
