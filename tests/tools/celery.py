"""Celery with queues as its broker: two workers share the tasks; one is stopped midway with SIGTERM; no task is lost.

kombu deletes a message when it arrives, so a worker must be stopped, not killed: it finishes the task in hand and puts back
what it has only reserved.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

TASKS = 60
connection = dict(part.split("=", 1) for part in os.environ["AZURE_STORAGE_CONNECTION_STRING"].rstrip(";").split(";"))
name = f"celery-{os.getpid()}"
done = Path("done")
done.mkdir()

Path("tasks.py").write_text(f'''
import os, time
from celery import Celery

app = Celery("tasks", broker="azurestoragequeues://{connection["AccountKey"]}@{connection["QueueEndpoint"]}")
app.conf.update(task_default_queue="{name}", task_ignore_result=True, worker_prefetch_multiplier=1, task_acks_late=False,
                broker_transport_options={{"queue_name_prefix": "lazuli-", "polling_interval": 0.2, "visibility_timeout": 60}},
                worker_enable_remote_control=False, broker_connection_retry_on_startup=True)

@app.task
def work(number):
    time.sleep(0.05)
    # The name says who did it. A second time is noticed, since the file is there.
    with open(f"done/{{number}}-{{os.environ['WORKER']}}", "x"):
        pass
''')


def worker(which):
    log = open(f"{which}.log", "w")
    command = [sys.executable, "-m", "celery", "-A", "tasks", "worker", "--concurrency", "1", "--pool", "prefork", "--without-gossip",
               "--without-mingle", "--without-heartbeat", "-n", f"{which}@here"]
    return subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"WORKER": which, "C_FORCE_ROOT": "1"})


def wait(condition, what):
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            for log in Path(".").glob("*.log"):
                print(log, log.read_text())
            raise SystemExit(f"{what}: {len(list(done.iterdir()))} of {TASKS} tasks are done")
        time.sleep(0.1)


sys.path.insert(0, ".")
import tasks  # noqa: E402

for number in range(TASKS):
    tasks.work.delay(number)
first, second = worker("first"), worker("second")
try:
    wait(lambda: len({entry.name.split("-")[1] for entry in done.iterdir()}) == 2, "both workers take part")
    first.send_signal(signal.SIGTERM)
    wait(lambda: first.poll() is not None, "the first worker ends")
    wait(lambda: len(list(done.iterdir())) >= TASKS, "all tasks are done")
    numbers = sorted(int(re.match(r"\d+", entry.name)[0]) for entry in done.iterdir())
    assert numbers == list(range(TASKS)), "each task was done once"
finally:
    for process in (first, second):
        process.terminate()
        process.wait(60)
print(f"{TASKS} tasks, each done once")
