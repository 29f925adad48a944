// The time of one run without a reader, and while browsers show it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { longRunModel, startLongRun } from "../test/support/long-run.ts";
import { openBrowser, type Page } from "../test/support/browser.ts";
import { readEvents } from "../test/support/read-events.ts";
import { temporaryHome, vendorEnv } from "../test/support/temporary-home.ts";
import { runSkein } from "./web-programs.ts";

/** At a model's pace: 100 pieces of text a second, 4 calls after each 100. */
const pace = { steps: 4, calls: 4, words: 100, pauseMs: 9 };
const lastPiece = `${pace.steps - 1}.${pace.words - 1}`;

/** Milliseconds from the second request to the last one. All browsers show the session by then, and each must show its end. */
export async function measureWatchedRun(browsers: number): Promise<number> {
  const ready = Promise.withResolvers<void>();
  const times: number[] = [];
  const server = startLongRun({
    ...pace,
    async beforeStep(step) {
      if (step === 0) await ready.promise;
      times.push(performance.now());
    },
  });
  using skein = temporaryHome(vendorEnv(server.url));
  writeFileSync(join(skein.project, "note.txt"), "a note\n");
  const pages: Page[] = [];
  try {
    // The hub runs on both sides, so that its own cost is no cost of the browsers.
    await runSkein(skein, ["web", "--json"]);
    const run = readEvents(skein.start(["run", "go", "--session", "run", "-m", longRunModel, "--output-format", "events"]));
    const started = await run.until((event) => event.type === "turn.started");
    if (started === null) throw new Error("the run did not start");
    for (let index = 0; index < browsers; index += 1) {
      const { login_url, url } = (await runSkein(skein, ["web", "--json"])).json() as { login_url: string; url: string };
      // Readers sit at other machines: here they get only processor time that nobody else needs. The model's server is in this
      // process, so it must not get an event for each frame.
      const page = await openBrowser({ prefix: ["chrt", "--idle", "0"], isObserved: false });
      pages.push(page);
      await page.open(login_url);
      await page.until("document.querySelector('.line.online')");
      await page.open("about:blank");
      await page.open(`${url}#/session/${started.session_id}`);
      await page.until("document.querySelector('.block.user')");
    }
    ready.resolve();
    const { code, err } = await run.ended;
    if (code !== 0) throw new Error(err);
    for (const page of pages) {
      await page.until("document.querySelector('.turn-end')");
      await page.until(`document.querySelector('.scroller').textContent.includes(${JSON.stringify(lastPiece)})`);
    }
    return times.at(-1)! - times[1]!;
  } finally {
    for (const page of pages) await page[Symbol.asyncDispose]();
    await skein.run(["hub", "stop", "--wait", "0"]);
    await server.stop();
  }
}
