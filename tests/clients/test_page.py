"""The page in a real browser, on a desk and on a phone, by day and by night."""

import re
import shutil

import pytest
from processes import BUILD
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.skipif(not shutil.which("chromedriver"), reason="Chromium could not be installed")

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


def open_page(browser, server, size="desktop", scheme="light"):
    width, height = SIZES[size]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.get_log("browser")
    browser.get(server.url + "/")
    wait(browser, lambda: "serves demo" in browser.find_element(By.ID, "server").text)


def wait(browser, holds):
    return WebDriverWait(browser, 20, poll_frequency=0.05).until(lambda _: holds())


def tokens(browser, kind="token"):
    return browser.find_elements(By.CSS_SELECTOR, f"#output .{kind}")


def generate(browser, prompt, new_tokens=64):
    box = browser.find_element(By.ID, "prompt")
    box.clear()
    box.send_keys(prompt)
    count = browser.find_element(By.ID, "max_new_tokens")
    count.clear()
    count.send_keys(str(new_tokens))
    box.send_keys(Keys.CONTROL, Keys.ENTER)
    wait(browser, lambda: re.search("ended by (length|stop)", browser.find_element(By.ID, "message").text))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_tokens_are_coloured_by_origin(browser, server, size, scheme):
    open_page(browser, server, size, scheme)
    generate(browser, "# `vector` class")
    assert tokens(browser, "accepted") and tokens(browser, "correction") + tokens(browser, "bonus")
    text = browser.find_element(By.ID, "output").get_property("textContent")
    assert text.startswith("# `vector` class") and len(text) > 40
    colours = {browser.execute_script("return getComputedStyle(arguments[0]).backgroundColor", tokens(browser, kind)[0])
               for kind in ("accepted", "correction", "bonus") if tokens(browser, kind)}
    assert len(colours) >= 2

    ActionChains(browser).move_to_element(tokens(browser, "accepted")[-1]).perform()
    tip = browser.find_element(By.ID, "tip")
    assert re.search(r"drafted and accepted · .*probability \d+\.\d %", tip.text)
    folder = BUILD / "screenshots"
    folder.mkdir(exist_ok=True)
    browser.save_screenshot(str(folder / f"{size}_{scheme}.png"))
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_keyboard_alone(browser, server):
    open_page(browser, server)
    generate(browser, "Once upon a time", new_tokens=12)
    for _ in range(30):  # Tab comes by the output
        if browser.switch_to.active_element.get_attribute("id") == "output":
            break
        browser.switch_to.active_element.send_keys(Keys.TAB)
    output = browser.switch_to.active_element
    assert output.get_attribute("id") == "output"
    tip = browser.find_element(By.ID, "tip")
    seen = []
    for key in (Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.END):
        output.send_keys(key)
        wait(browser, lambda: tip.is_displayed() and tip.text not in seen)
        seen.append(tip.text)
    assert all("probability" in text for text in seen)
    output.send_keys(Keys.ESCAPE)
    wait(browser, lambda: not tip.is_displayed())


def test_stop(browser, server):
    open_page(browser, server)
    count = browser.find_element(By.ID, "max_new_tokens")
    count.clear()
    count.send_keys("450")
    browser.find_element(By.ID, "start").click()
    wait(browser, lambda: tokens(browser))
    browser.find_element(By.ID, "stop").click()
    wait(browser, lambda: browser.find_element(By.ID, "message").text == "stopped"
         or "ended by" in browser.find_element(By.ID, "message").text)


def test_markup_in_a_prompt_stays_text(browser, server):
    open_page(browser, server)
    prompt = "<img src=x onerror=alert(1)><b>bold</b>"
    generate(browser, prompt, new_tokens=8)
    assert browser.find_element(By.ID, "output").get_property("textContent").startswith(prompt)
    assert browser.find_elements(By.CSS_SELECTOR, "#output img, #output b") == []


def test_errors_are_told(browser, server):
    open_page(browser, server)
    browser.execute_script("document.getElementById('prompt').value = 'word '.repeat(5000)")
    browser.find_element(By.ID, "start").click()
    message = browser.find_element(By.ID, "message")
    wait(browser, lambda: message.text.startswith("400 ") and "context" in message.text)


def test_charts_live(browser, server):
    open_page(browser, server)
    generate(browser, "Once upon a time", new_tokens=400)
    for _ in range(3):
        generate(browser, "# `vector` class", new_tokens=400)
    values = browser.find_elements(By.CSS_SELECTOR, "#charts output")
    assert len(values) == 5

    def number(index):
        return float(values[index].text.split()[0]) if values[index].text != "–" else None

    wait(browser, lambda: number(3) is not None and number(4) is not None)
    points = browser.find_elements(By.CSS_SELECTOR, "#charts polyline")
    wait(browser, lambda: all(point.get_attribute("points") for point in points))  # each has been known once
