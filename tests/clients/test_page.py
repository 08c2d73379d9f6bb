"""The page in a real browser: desktop and phone, light and dark."""

import json
import re
import shlex
import shutil
import subprocess
import time

import pytest
from processes import BUILD, ROOT, shortlist_server
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


def open_page(browser, server, size="desktop", scheme="light", says="serves "):
    width, height = SIZES[size]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.get_log("browser")
    browser.get(server.url + "/")
    wait(browser, lambda: says in browser.find_element(By.ID, "server").text)


def wait(browser, holds):
    return WebDriverWait(browser, 20, poll_frequency=0.05).until(lambda _: holds())


def point_at(browser, element, shows):
    """Waits for the scroll event of bringing `element` into view, which would hide the tip, before the pointer
    moves."""
    tip = browser.find_element(By.ID, "tip")
    browser.execute_async_script("""
        arguments[1].hidden = true;
        arguments[0].scrollIntoView({block: "center"});
        requestAnimationFrame(() => requestAnimationFrame(arguments[2]));""", element, tip)
    ActionChains(browser).move_to_element(element).perform()
    wait(browser, lambda: tip.is_displayed() and shows(tip.text))


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
    wait_for_end(browser)


def wait_for_end(browser):
    wait(browser, lambda: browser.find_element(By.ID, "start").text == "Generate"
         and re.search("ended by (length|stop)", browser.find_element(By.ID, "message").text))


def test_output_follows_schema_and_forced_tokens_have_a_colour(browser, server):
    open_page(browser, server)
    browser.find_element(By.TAG_NAME, "summary").click()
    browser.find_element(By.ID, "schema").send_keys(
        '{"type": "object", "properties": {"container": {"enum": ["vector", "map"]}},'
        ' "required": ["container"], "additionalProperties": false}')
    generate(browser, "# `vector` class")
    output = json.loads("".join(token.get_property("textContent") for token in tokens(browser)))
    assert output["container"] in ("vector", "map")
    # The demo's tokenizer leaves a choice between spellings of a text, so nothing is forced.
    browser.execute_script(
        "addToken({text: 'x', origin: 'forced', id: 0}, document.getElementById('output')); showLegend();")
    colours = {browser.execute_script("return getComputedStyle(arguments[0]).backgroundColor", tokens(browser, kind)[0])
               for kind in ("accepted", "forced")}
    assert len(colours) == 2
    assert "forced" in browser.find_element(By.ID, "legend").text


def figures(browser):
    """Returns the visible figures by name."""
    shown = browser.find_elements(By.CSS_SELECTOR, "#figures > div")
    return {entry.find_element(By.TAG_NAME, "dt").text.lower(): entry.find_element(By.TAG_NAME, "dd").text
            for entry in shown if entry.is_displayed()}


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

    # Measured costs decide which tokens are drafted. A line break has no middle to point at.
    words = [token for token in tokens(browser, "accepted") if "\n" not in token.get_property("textContent") and token.text]
    point_at(browser, words[-1],
             lambda tip: re.search(r"drafted and accepted · .*probability \d+\.\d %", tip))
    folder = BUILD / "screenshots"
    folder.mkdir(exist_ok=True)
    browser.save_screenshot(str(folder / f"{size}_{scheme}.png"))
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_keyboard_alone(browser, server):
    open_page(browser, server)
    generate(browser, "Once upon a time", new_tokens=12)
    for _ in range(30):  # Tab reaches the output
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


def test_stop_is_the_buttons_second_state(browser, server):
    open_page(browser, server)
    button = browser.find_element(By.ID, "start")
    count = browser.find_element(By.ID, "max_new_tokens")
    # Delayed after the first token, so that there is something to stop.
    browser.execute_script("""
        const original = window.fetch;
        window.fetch = (path, options) => original(path, options).then((response) => {
          if (path !== "/generate") return response;
          const held = response.body.pipeThrough(new TransformStream({
            transform: (chunk, out) => new Promise((go) => { out.enqueue(chunk); setTimeout(go, 200); }) }));
          return new Response(held, response);
        });""")
    count.clear()
    count.send_keys("450")
    button.click()
    wait(browser, lambda: tokens(browser) and button.text == "Stop")
    button.click()
    wait(browser, lambda: browser.find_element(By.ID, "message").text == "stopped" and button.text == "Generate")


def test_the_result_is_in_view_on_a_phone(browser, server):
    open_page(browser, server, "phone")
    browser.find_element(By.ID, "start").click()
    wait_for_end(browser)
    assert browser.execute_script(
        "const box = document.getElementById('figures').getBoundingClientRect(); return box.top >= 0 && box.bottom < innerHeight")


def test_figures_of_the_request_beside_plain_decoding(browser, server):
    open_page(browser, server)
    generate(browser, "# `vector` class")
    assert set(figures(browser)) == {"tokens per second", "accept length"}
    browser.find_element(By.ID, "compare").click()
    browser.find_element(By.ID, "start").click()
    wait(browser, lambda: "× plain" in figures(browser))
    shown = figures(browser)
    assert float(shown["accept length"]) > 1.5 and float(shown["× plain"].split()[0]) > 0
    name = browser.find_element(By.ID, "plain_name").text
    assert re.fullmatch(r"Plain: [\d.]+ tokens per second, the same output", name)
    assert browser.find_element(By.ID, "plain").get_property("textContent").strip() == \
        browser.find_element(By.ID, "output").get_property("textContent").strip()


def test_every_word_is_explained(browser, server):
    open_page(browser, server)
    generate(browser, "# `vector` class")
    words = set()
    for word in browser.find_elements(By.CSS_SELECTOR, ".term"):
        if not word.is_displayed():
            continue
        point_at(browser, word, lambda tip: len(tip) > 20 and "undefined" not in tip)
        words.add(word.text.lower())
    assert {"accepted", "correction", "bonus", "escape", "coverage", "accept length"} <= words


def test_chat(browser, server):
    open_page(browser, server)
    browser.find_element(By.CSS_SELECTOR, "input[name=mode][value=chat]").click()
    box, output = browser.find_element(By.ID, "prompt"), browser.find_element(By.ID, "output")
    for number, message in enumerate(["What is a vector?", "Who's there?"], 1):
        box.send_keys(message, Keys.CONTROL, Keys.ENTER)
        wait_for_end(browser)
        turns = output.find_elements(By.CLASS_NAME, "turn")
        assert len(turns) == 2 * number and turns[-2].text == "you\n" + message
        assert turns[-1].find_elements(By.CLASS_NAME, "token")
    box.send_keys("It's me")
    browser.find_element(By.ID, "copy").click()
    command = browser.find_element(By.ID, "curl").text
    body = json.loads(shlex.split(command)[-1])
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    assert body["messages"][-1]["content"] == "It's me"
    reply = subprocess.run(["bash", "-c", command + " -sS"], capture_output=True, text=True, check=True).stdout
    assert json.loads(reply)["choices"][0]["message"]["role"] == "assistant"
    browser.find_element(By.ID, "new_chat").click()
    assert output.text == ""


def test_a_missing_key_is_asked_for_once(browser):
    with shortlist_server("page_key", "--api-key", "of-the-page") as server:
        open_page(browser, server, says="401")
        assert browser.find_element(By.ID, "key_field").is_displayed()
        assert "API key" in browser.find_element(By.ID, "server").text
        refused = browser.execute_script("return performance.getEntriesByType('resource').length")
        time.sleep(3)
        assert browser.execute_script("return performance.getEntriesByType('resource').length") == refused
        browser.find_element(By.ID, "key").send_keys("of-the-page", Keys.TAB)
        wait(browser, lambda: "serves demo" in browser.find_element(By.ID, "server").text)
        generate(browser, "Once upon a time", new_tokens=8)
        assert server.stop() == 0


def test_without_a_draft_nothing_of_it_is_shown(browser):
    with shortlist_server("page_plain", "--model", ROOT / "models/demo/target") as server:
        open_page(browser, server)
        generate(browser, "Once upon a time", new_tokens=8)
        assert set(figures(browser)) == {"tokens per second"}
        assert not browser.find_element(By.ID, "legend").is_displayed()
        assert not browser.find_element(By.ID, "compare_field").is_displayed()
        assert len(browser.find_elements(By.CSS_SELECTOR, "#charts output")) == 3
        assert server.stop() == 0


def test_scales(browser, server):
    open_page(browser, server)
    scales = [scale.text.split("\n") for scale in browser.find_elements(By.CLASS_NAME, "scale")]
    assert len(scales) == 5 and all(low == "0" and high != "0" for high, low in scales)
    link = browser.find_element(By.CSS_SELECTOR, "header a")
    assert link.get_attribute("href") == server.url + "/docs"


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
    wait(browser, lambda: all(point.get_attribute("points") for point in points))  # each value has been known once
