#!/usr/bin/env python3
"""`shardsim explore`: what its server says is what `shardsim run` says, hostile requests get nothing, and its page
works in a browser. Usage: explore.py SHARDSIM SOURCE_DIR"""
import json
import os
import random
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

shardsim, source = map(os.path.realpath, sys.argv[1:3])
sys.path.insert(0, os.path.join(source, "tests", "browser"))
from devtools import Browser, find_browser  # noqa: E402

CHANGES = 200
os.environ["SHARDSIM_DATA"] = source
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
os.symlink(os.path.join(source, "scenarios"), "scenarios")
checks = failures = 0


def check(what, holds):
    global checks, failures
    checks += 1
    if not holds:
        failures += 1
        print("FAILED:", what)


class Server:
    """A running `shardsim explore`."""

    def __init__(self, *words):
        self.process = subprocess.Popen([shardsim, "explore", *words, "--no-open"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise SystemExit(f"explore does not start: {self.process.stderr.read()}")
        self.port = urllib.parse.urlsplit(self.url).port
        self.token = urllib.parse.urlsplit(self.url).path.strip("/")

    def request(self, path, body=None, headers=None, method=None):
        """Returns status and body; `path` goes out as it is."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=600) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def ask(self, what, now, pinned=None, page=""):
        body = json.dumps({"now": now, "pinned": pinned}).encode()
        return self.request(f"/{self.token}/{what}/{page}", body, {"Content-Type": "application/json"})

    def answer(self, now, pinned=None):
        status, body = self.ask("answer", now, pinned)
        assert status == 200, (status, body)
        return json.loads(body)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=60)
        return code, self.process.stderr.read()


def run(scenario, *words):
    """What `shardsim run` says: exit code, result.json or the message."""
    done = subprocess.run([shardsim, "run", scenario, "-o", "out", "-q", "--json", *words], capture_output=True, text=True)
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr.strip().removeprefix("error: ")


def random_turns(draw, case, knobs):
    """A few knobs turned to what their sliders and lists offer, and at times to what nothing accepts."""
    turned = {"case": case, "knobs": {}, "more": []}
    for knob in draw.sample(knobs, draw.randint(1, 4)):
        if knob["options"]:
            # Planners that search or draw take seconds of their own; they are another test's.
            values = [each["value"] for each in knob["options"] if each["value"] not in ("search", "neuroshard", "autoshard", "dreamshard")]
        else:
            values = [format(stop, "g") if stop < 1e6 else str(int(stop)) for stop in knob["stops"]]
        turned["knobs"][knob["id"]] = draw.choice(values)
    if draw.random() < 0.1:
        turned["knobs"]["batch"] = draw.choice(["0", "many", "-5", "4096.5"])
    if draw.random() < 0.2:
        turned["more"] = [draw.choice(["overlap=false", "iterations=6", "seed=3", "no_such_key=1", "collectives.all_to_all=ring"])]
    return turned


def settings_words(answer):
    return [word for path, value in answer["settings"] for word in ("--set", f"{path}={value}")]


def is_equal_to_run(server, scenario, turned, answer):
    words = ["--case", turned["case"], *settings_words(answer), *(w for m in turned["more"] if "error" in answer for w in ("--set", m))]
    code, said = run(scenario, *words)
    if "error" in answer:
        return (code, said) == (answer["exit_code"], answer["error"])
    result = json.loads(said)["cases"][0]
    figures = answer["figures"]
    equal = code == 0 and figures["iteration_ms"] == result["iteration_ms"] and figures["samples_per_s"] == result["samples_per_s"]
    outside = ", ".join(result["interval"]["outside"])
    equal = equal and answer["words"]["doubt"] == (f"?: not counted in the range: {outside}." if outside else "")
    equal = equal and figures["range_ms"] == [result["interval"]["low_ms"], result["interval"]["high_ms"]]
    return equal and server.ask("result.json", turned)[1].decode() == said


def check_changes():
    scenario = "scenarios/toy.yaml"
    server, draw = Server(scenario), random.Random(20261128)
    cases = ["row_wise", "flexshard_2tier", "flexshard_3tier"]
    pinned = {"case": "row_wise", "knobs": {}, "more": []}
    knobs = {case: server.answer({"case": case, "knobs": {}, "more": []})["knobs"] for case in cases}
    wrong = infeasible = 0
    for number in range(CHANGES):
        case = draw.choice(cases)
        turned = random_turns(draw, case, knobs[case])
        answer = server.answer(turned, pinned)
        wrong += answer.get("exit_code") == 2
        infeasible += answer.get("exit_code") == 3
        check(f"change {number} is what run says: {turned}: {answer.get('error', answer.get('settings'))}",
              is_equal_to_run(server, scenario, turned, answer))
    check(f"of {CHANGES} changes most are simulated and some refused: {wrong} wrong", 10 < wrong < CHANGES / 2)
    refused = server.answer({"case": "row_wise", "knobs": {"batch": "0"}, "more": []})
    check("what is wrong stands beside its field", refused["knob"] == "batch")
    print(f"{CHANGES} changes equal run ({wrong} refused, {infeasible} do not fit)")
    server.stop()


def check_scenario_files():
    for scenario, case, knobs, more in (
            ("scenarios/toy.yaml", "flexshard_3tier", {"nodes": "4", "nic": "100", "budget": "1"}, ["overlap=false"]),
            ("scenarios/flexshard.yaml", "rm1/flexshard_2tier", {"gpu": "H100-SXM5-80GB", "batch": "2048"}, []),
            ("scenarios/flexshard.yaml", "rm4/row_wise", {"cluster": "dgx_h100", "software": "torchrec_eager"}, []),
            ("scenarios/one_gpu.yaml", None, {}, [])):
        server = Server(scenario)
        case = case or json.loads(server.request(f"/{server.token}/")[1].decode().split('id="start">')[1].split("</script>")[0])["cases"][0]
        turned = {"case": case, "knobs": knobs, "more": more}
        answer = server.answer(turned)
        status, text = server.ask("scenario.yaml", turned)
        check(f"{case} is written as a scenario: {text[:300]}", status == 200)
        server.stop()
        os.makedirs("elsewhere", exist_ok=True)
        with open("elsewhere/explored.yaml", "wb") as file:
            file.write(text)
        code, said = run("elsewhere/explored.yaml")
        check(f"run reads the file of {case}: {said[:300]}", code == 0)
        if code == 0:
            check(f"and says the same of {case}", json.loads(said)["cases"][0]["iteration_ms"] == answer["figures"]["iteration_ms"])


def raw(port, text):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(text)
        return connection.recv(1 << 16).decode(errors="replace").split("\r\n", 1)[0]


def check_many_at_once(server):
    """Connections that come while the program is busy wait for it: none of them is turned away."""
    server.process.send_signal(signal.SIGSTOP)
    waiting = [socket.socket() for _ in range(60)]
    try:
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", server.port))
        accepted = [each.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0 and bool(select.select([], [each], [], 0.2)[1]) for each in waiting]
        check(f"{sum(accepted)} of 60 connections at once are taken", all(accepted))
    finally:
        server.process.send_signal(signal.SIGCONT)
        for each in waiting:
            each.close()


def check_hostile():
    server = Server("scenarios/toy.yaml")
    home, token = f"/{server.token}/", server.token
    here = f"127.0.0.1:{server.port}"
    body = json.dumps({"now": {"case": "row_wise", "knobs": {}}}).encode()
    expected = [
        ("the page", 200, home, None, {}),
        ("localhost by name", 200, home, None, {"Host": f"localhost:{server.port}"}),
        ("no token", 403, "/", None, {}),
        ("another token", 403, "/" + "0" * 32 + "/", None, {}),
        ("a part of the token", 403, home[:-2] + "/", None, {}),
        ("the token and more", 403, home[:-1] + "0/", None, {}),
        ("another host", 403, home, None, {"Host": "evil.example"}),
        ("another host that leads here", 403, home, None, {"Host": f"evil.example:{server.port}"}),
        ("another origin", 403, f"/{token}/answer/p", body, {"Origin": "http://evil.example"}),
        ("a file as origin", 403, f"/{token}/answer/p", body, {"Origin": "null"}),
        ("its own origin", 200, f"/{token}/answer/p", body, {"Origin": f"http://{here}"}),
        ("a page of another site", 403, home, None, {"Sec-Fetch-Site": "cross-site"}),
        ("an unknown path", 404, home + "nothing", None, {}),
        ("an unknown question", 404, f"/{token}/nothing/p", body, {}),
        ("a question by GET", 404, f"/{token}/answer/p", None, {}),
        ("a file", 404, home + "../../../../etc/passwd", None, {}),
        ("a file, encoded", 404, home + "%2e%2e%2f%2e%2e%2fetc%2fpasswd", None, {}),
        ("a file by two slashes", 404, home + "/etc/passwd", None, {}),
        ("a null byte", 404, home + "%00", None, {}),
        ("10 MB", 413, f"/{token}/answer/p", b" " * 10_000_000, {}),
        ("no JSON", 400, f"/{token}/answer/p", b"{", {}),
        ("deep JSON", 400, f"/{token}/answer/p", b"[" * 100_000, {}),
        ("an unknown key", 400, f"/{token}/answer/p", b'{"now": {"case": "row_wise", "what": 1}}', {}),
    ]
    for what, status, path, sent, headers in expected:
        try:
            seen = server.request(path, sent, {"Content-Type": "application/json", **headers})[0]
        except (urllib.error.URLError, ConnectionError) as error:  # a body that nobody reads to its end
            seen = 413 if status == 413 else error
        check(f"{what}: {seen}, not {status}", seen == status)
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        check(f"{method} is refused", server.request(home, method=method)[0] == 405)
    check("two hosts are refused", " 403" in raw(server.port, f"GET {home} HTTP/1.1\r\nHost: {here}\r\nHost: evil\r\n\r\n".encode()))
    check("no host is refused", " 403" in raw(server.port, f"GET {home} HTTP/1.1\r\n\r\n".encode()))
    with urllib.request.urlopen(server.url) as reply:
        policy = reply.headers["Content-Security-Policy"]
        check("the page may load from nowhere else", "default-src 'none'" in policy and "connect-src 'self'" in policy)
        check("nothing is kept by caches", reply.headers["Cache-Control"] == "no-store")
        text = reply.read().decode()
    changed = Server("scenarios/toy.yaml", "--set", "cluster.nodes=2", "--seed", "5")
    shown = changed.request(f"/{changed.token}/")[1].decode()
    check("the page starts the same study again",
          '"restart":"shardsim explore scenarios/toy.yaml --set cluster.nodes=2 --seed 5"' in shown.replace('": "', '":"'))
    changed.stop()
    check("the page names no other place", "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text)
    with open("/proc/net/tcp", encoding="ascii") as file:
        listening = [line.split()[1] for line in file if line.split()[3] == "0A"]
    check("only this computer is listened to", f"0100007F:{server.port:04X}" in listening and f"00000000:{server.port:04X}" not in listening)
    check_many_at_once(server)
    # After all of that it still answers.
    check("it still answers", "figures" in server.answer({"case": "row_wise", "knobs": {}}))
    other = subprocess.run([shardsim, "explore", "scenarios/toy.yaml", "--no-open", "--port", str(server.port)], capture_output=True, text=True)
    check(f"a port that is taken: {other.stderr}", other.returncode == 1 and "--port" in other.stderr)
    code, said = server.stop()
    check(f"Ctrl-C ends it with {code}: {said!r}", code == 130 and said.endswith("explore: ended.\n"))
    check("nobody listens then", socket.socket().connect_ex(("127.0.0.1", server.port)) != 0)


def turn(page, knob, value):
    """Writes a value into a field, as a reader does, and waits for the answer."""
    before = page.evaluate("Number(document.documentElement.dataset.answers)")
    page.evaluate(f"""(function () {{ var field = document.getElementById("knob-{knob}"); field.value = {json.dumps(value)};
        field.dispatchEvent(new Event("change")); }})()""")
    page.wait_for(f"Number(document.documentElement.dataset.answers) > {before}")


def time_shown(page):
    return page.evaluate("document.querySelector('.figures .first dd').firstChild.textContent")


def check_page():
    if not find_browser():
        print("the page itself is not looked at: there is no Chromium")
        return
    server = Server("scenarios/flexshard.yaml", "--case", "rm1/flexshard_3tier")
    ready = "document.documentElement.dataset.answers > 0"
    with Browser() as browser:
        page, other = browser.page(server.url), browser.page(server.url)
        page.wait_for(ready)
        other.wait_for(ready)
        for width in (360, 768, 1440, 3840):
            for dark in (False, True):
                page.size(width, 900, dark)
                wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                check(f"at {width} px nothing lies beyond the window: {wide}", wide == 0)
        page.size(1366, 900)
        first = time_shown(page)
        turn(page, "batch", "8192")
        check("a turned field shows another time", time_shown(page) != first)
        check("the other page stays as it is", time_shown(other) == first)
        check("both stand beside each other", page.evaluate("document.querySelectorAll('.bars .track').length") == 2)
        ruler = page.evaluate("Array.from(document.querySelectorAll('.bars .ruler span')).map(function (each) { return each.textContent; })")
        check(f"the bars have an axis of milliseconds: {ruler}", len(ruler) > 2 and ruler[0] == "0 ms")
        check("the page says what the bracket below a bar is", "80 % range" in page.evaluate("document.querySelector('.bars').textContent") or
              not page.evaluate("document.querySelector('.bars .range')"))
        check("what holds for a whole list stands before it", page.evaluate("""Array.from(document.querySelectorAll('#fields .field')).every(function (field) {
            var list = field.querySelector('select'), about = field.querySelector('.about');
            return !list || about.hidden || (about.compareDocumentPosition(list) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0; })"""))
        check("the order is stated", "the chance that it is really" in page.evaluate("document.querySelector('.order').textContent"))
        second = time_shown(page)
        turn(page, "nodes", "0")
        check("a wrong value is explained beside its field",
              "is below 1" in page.evaluate("document.getElementById('wrong-nodes').textContent") and
              page.evaluate("document.getElementById('knob-nodes').getAttribute('aria-invalid')") == "true")
        check("the figures stay", time_shown(page) == second)
        for expected in (second, first):
            before = page.evaluate("Number(document.documentElement.dataset.answers)")
            page.evaluate("document.querySelector('form .buttons').children[1].click()")  # undo
            page.wait_for(f"Number(document.documentElement.dataset.answers) > {before}")
            check("undo brings back what was", time_shown(page) == expected)
        turn(page, "nic", "400")
        third = time_shown(page)
        page.call("Page.reload")
        page.wait_for(f"({ready}) && document.querySelector('.figures .first dd')")
        check("loading the page again keeps the changes", time_shown(page) == third)
        slider = "document.querySelector('#fields input[type=range]')"
        before = page.evaluate("Number(document.documentElement.dataset.answers)")
        page.evaluate(f"{slider}.focus()")
        page.press("ArrowRight")
        page.wait_for(f"Number(document.documentElement.dataset.answers) > {before}")
        check("a key moves a slider", time_shown(page) != third)
        check("every field has a name", page.evaluate(
            "Array.from(document.querySelectorAll('form input, form select, form textarea')).every(e => e.labels.length || e.getAttribute('aria-label'))"))
        server.stop()
        other.wait_for("document.documentElement.dataset.stopped == 'yes'")
        check("a server that stopped is told, with the command that starts it",
              "shardsim explore scenarios/flexshard.yaml" in other.evaluate("document.getElementById('stopped').textContent"))
        check("and nothing can be turned any longer", other.evaluate("document.getElementById('knob-batch').disabled"))
        look_at_microseconds(browser)


def look_at_microseconds(browser):
    """The parts of an iteration of less than a millisecond fill its bar, as those of a longer one do."""
    server = Server("scenarios/toy.yaml", "--case", "row_wise")
    page = browser.page(server.url)
    page.wait_for("document.querySelector('.bars .parts')")
    filled = page.evaluate("""(function () { var bar = document.querySelector('.bars .parts'), all = Array.from(bar.children);
        return all.reduce(function (sum, each) { return sum + each.getBoundingClientRect().width; }, 0) / bar.getBoundingClientRect().width; })()""")
    check(f"parts fill {filled:.2f} of their bar", filled > 0.9)
    server.stop()


def check_written_files():
    """A scenario, or a file that it names, that was written since is read again."""
    os.makedirs("written", exist_ok=True)
    with open("scenarios/toy.yaml", encoding="utf-8") as file:
        text = file.read()
    workload = os.path.realpath("scenarios/workloads/toy_history.yaml")
    check("toy.yaml names its workload", "workloads/toy_history.yaml" in text)
    with open(workload, encoding="utf-8") as file, open("written/work.yaml", "w", encoding="utf-8") as copy:
        copy.write(file.read())
    text = text.replace("clusters/", os.path.realpath("scenarios/clusters") + "/")
    with open("written/toy.yaml", "w", encoding="utf-8") as file:
        file.write(text.replace("workloads/toy_history.yaml", "work.yaml"))
    server, turned = Server("written/toy.yaml"), {"case": "row_wise", "knobs": {"nic": "100"}, "more": []}
    before = server.answer(turned)["figures"]["batch_per_gpu"]
    with open("written/work.yaml", encoding="utf-8") as file:
        changed = file.read().replace(f"batch_per_gpu: {before}", f"batch_per_gpu: {2 * before}")
    with open("written/work.yaml", "w", encoding="utf-8") as file:
        file.write(changed)
    after = server.answer(turned)
    check(f"a workload that was written is read again: {after.get('error')}", after.get("figures", {}).get("batch_per_gpu") == 2 * before)
    with open("written/toy.yaml", "a", encoding="utf-8") as file:
        file.write("no_such_key: 1\n")
    check("a fault that was written is told", "no_such_key" in server.answer(turned).get("error", ""))
    check("and told again", "no_such_key" in server.answer(turned).get("error", ""))
    with open("written/toy.yaml", "w", encoding="utf-8") as file:
        file.write(text.replace("workloads/toy_history.yaml", "work.yaml"))
    check("until it is gone", server.answer(turned).get("figures", {}).get("batch_per_gpu") == 2 * before)
    server.stop()


def cpu_ms(process):
    """What the threads of the process have used, and the processes that it started and waited for (in steps of 10 ms)."""
    of_threads = 0
    for thread in os.listdir(f"/proc/{process.pid}/task"):
        try:
            with open(f"/proc/{process.pid}/task/{thread}/schedstat", encoding="ascii") as file:
                of_threads += int(file.read().split()[0])
        except FileNotFoundError:  # it has ended
            pass
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        ticks = sum(map(int, file.read().rsplit(")", 1)[1].split()[13:15]))
    return of_threads / 1e6 + 1e3 * ticks / os.sysconf("SC_CLK_TCK")


def check_speed():
    """A change takes 50 ms at most, by the processor: the clock of a busy computer says little. Neighbours on a processor
    slow it, too, so the quietest of a few rounds counts."""
    server, medians = Server("scenarios/flexshard.yaml"), []
    server.answer({"case": "rm1/flexshard_3tier", "knobs": {}})
    for first in range(1024, 1024 + 5):
        times, cpu = [], []
        for batch in range(first, first + 40 * 64, 64):
            from_time, from_cpu = time.perf_counter(), cpu_ms(server.process)
            server.answer({"case": "rm1/flexshard_3tier", "knobs": {"batch": str(batch)}})
            times.append(1e3 * (time.perf_counter() - from_time))
            cpu.append(cpu_ms(server.process) - from_cpu)
        medians.append(statistics.median(cpu))
        print(f"32 GPUs, {len(times)} changes: median {statistics.median(times):.1f} ms, longest {max(times):.1f} ms; median {medians[-1]:.1f} ms of a CPU")
        if medians[-1] < 50 or len(medians) == 5:
            break
    check(f"a change takes {min(medians):.1f} ms of a CPU", min(medians) < 50)
    server.stop()


check_hostile()
check_changes()
check_scenario_files()
check_written_files()
check_page()
check_speed()
print(f"{checks} checks, {failures} failures")
sys.exit(failures > 0)
