# SPDX-License-Identifier: Apache-2.0
"""Pages of the site in Chromium: as wide as the window, light and dark as the system has it, nothing from a network.

SITE: the folder that tools/site.sh wrote.
"""
import os
import pathlib
import unittest

from browser import the_browser

SITE = pathlib.Path(os.environ.get("SITE", "build/site"))
# Each with what is widest on such a page: a picture, commands, signatures, tables of results.
PAGES = ("", "start/", "guides/predict/", "guides/decode/", "terminal/", "operations/", "reference/python/",
         "reference/cpp/", "results/", "ladder/", "compare/", "receipts/")

# Elements that stand out of the window and are in no box that scrolls or hides them.
OUTSIDE = """(() => {
    const within = (element) => {
        for (let box = element.parentElement; box !== document.body; box = box.parentElement) {
            if (getComputedStyle(box).overflowX !== "visible") return box.getBoundingClientRect().right <= innerWidth + 1;
        }
        return false;
    };
    return [...document.querySelectorAll(".md-content *")]
        .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !within(e))
        .map(e => e.tagName + " " + e.textContent.slice(0, 60));
})()"""
# Of tables of numbers: how many are wider than their box.
CUT_TABLES = """[...document.querySelectorAll(".md-typeset__table")]
    .filter(box => box.firstElementChild.scrollWidth > box.clientWidth + 1).length"""
LIGHTNESS = """(() => {
    const part = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
    return (part[0] + part[1] + part[2]) / 765;
})()"""


class Site(unittest.TestCase):
    def opened(self, page, width, theme="light"):
        browser = the_browser()
        browser.look(width, theme)
        browser.driver.get_log("performance")
        browser.driver.get((SITE.resolve() / page / "index.html").as_uri())
        # Material puts tables into boxes of their own once it runs.
        browser.wait("document.readyState === 'complete' && "
                     "!document.querySelector('.md-typeset table:not([class])')?.matches('.md-content__inner > table')")
        return browser

    def test_nothing_moves_a_page_sideways(self):
        for page in PAGES:
            for width in (1280, 375):
                with self.subTest(page=page, width=width):
                    browser = self.opened(page, width)
                    self.assertLessEqual(browser.get("document.documentElement.scrollWidth"), width)
                    self.assertEqual(browser.get(OUTSIDE), [])

    def test_tables_of_results_fit_a_wide_window_and_scroll_on_a_phone(self):
        browser = self.opened("results/", 1280)
        self.assertGreater(browser.get("document.querySelectorAll('.md-typeset__table').length"), 5)
        self.assertEqual(browser.get(CUT_TABLES), 0)
        self.assertGreater(self.opened("results/", 375).get(CUT_TABLES), 0)

    def test_colours_follow_the_system_on_each_visit(self):
        for theme in ("light", "dark", "light"):
            with self.subTest(theme):
                lightness = self.opened("", 1280, theme).get(LIGHTNESS)
                self.assertTrue(lightness > 0.9 if theme == "light" else lightness < 0.25, lightness)

    def test_a_picture_opens_as_large_as_the_window(self):
        browser = self.opened("results/", 1280)
        before = browser.get("document.querySelector('.md-content img').clientWidth")
        browser.do("document.querySelector('.md-content a.glightbox').click()")
        browser.wait(f"document.querySelector('.gslide-image img')?.clientWidth > {before}")

    def test_a_picture_keeps_a_size_that_can_be_read_on_a_phone(self):
        browser = self.opened("", 375)
        self.assertGreaterEqual(browser.get("document.querySelector('.md-content img').clientWidth"), 600)

    def test_nothing_is_asked_of_a_network(self):
        for page in ("", "results/"):
            self.assertEqual(self.opened(page, 1280).requests(), [])


if __name__ == "__main__":
    unittest.main()
