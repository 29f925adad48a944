// The line between page and hub is cut, held and buffered while an agent works. Nobody loads the page again, and afterwards it
// shows the same as a page whose line was never cut.
import { expect, test } from "bun:test";
import { allBlocks } from "./all-blocks.ts";
import { openPage, startSession, waitForEnd } from "./open-page.ts";
import { startProxy } from "./cut-line.ts";

const rounds = 20;

/** Each step has a text that streams for some time and a call with output. */
const script = {
  steps: Array.from({ length: 40 }, (_, step) => ({
    text: Array.from({ length: 25 }, (_word, index) => `s${step}w${index}`).join(" "),
    calls: [{ input: { command: `for i in 1 2 3; do echo step ${step} line $i; sleep 0.03; done` } }],
  })),
  final: "Everything is done.",
};

test(`after ${rounds} cuts and a line that was held, the page shows what an uncut page shows`, async () => {
  await using opened = await openPage(script, { chunkDelayMs: 8 });
  const { page, context, openWeb } = opened;
  const { port, url } = await openWeb();
  const proxy = startProxy(() => port);
  try {
    await page.goto("about:blank");
    const { login_url } = await openWeb("--origin", `http://127.0.0.1:${proxy.port}`);
    await page.goto(login_url);
    await page.locator(".line.online").waitFor();
    const loads = await page.evaluate<number>("performance.timeOrigin");
    await startSession(page, "work for a while");
    for (let round = 0; round < rounds; round += 1) {
      if (round % 10 === 5) {
        proxy.hold();
        await Bun.sleep(300);
        proxy.release();
      }
      proxy.cut();
      await page.locator(".line.offline").waitFor();
      proxy.restore();
      await page.locator(".line.online").waitFor();
      await Bun.sleep(20 + ((round * 37) % 80));
    }
    await page.getByText("Everything is done.").waitFor({ timeout: 60_000 });
    await waitForEnd(page);
    expect(await page.evaluate<number>("performance.timeOrigin")).toBe(loads);

    const uncut = await context.newPage();
    const login = await openWeb("--origin", `http://127.0.0.1:${proxy.port}`);
    expect(login.url).not.toBe(url);
    await uncut.goto(page.url());
    await waitForEnd(uncut);
    const blocks = await allBlocks(page);
    expect(blocks.length).toBeGreaterThan(80);
    expect(blocks).toEqual(await allBlocks(uncut));
  } finally {
    proxy.stop();
  }
});
