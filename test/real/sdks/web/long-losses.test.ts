// Lines of many pages are lost in mid-stream: cut, frozen with the browser, lost with a killed hub, buffered by a proxy. All
// pages then have the events of the record, and nobody has loaded one again. SKEIN_WEB_LOSSES=full does it with 50 pages for
// each kind, 30 seconds of cut and a minute of frozen browser.
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { JsonValue } from "../../../../src/scripted-model/json.ts";
import type { Script } from "../../../../src/scripted-model/script.ts";
import { childrenOf } from "../../../support/processes.ts";
import { allBlocks } from "./all-blocks.ts";
import { startProxy, type Cuttable } from "./cut-line.ts";
import { openPage, startSession, waitForEnd, type OpenedPage } from "./open-page.ts";
import { collectEvents } from "./received-events.ts";

const isFull = process.env["SKEIN_WEB_LOSSES"] === "full";
const size = isFull ? { batches: 2, pages: 25, cutMs: 30_000, frozenMs: 60_000 } : { batches: 1, pages: 3, cutMs: 3_000, frozenMs: 5_000 };

type Loss = {
  title: string;
  /** About how long the turn must stream. */
  streamMs: number;
  lose: (opened: OpenedPage, proxy: Cuttable) => Promise<void>;
};

const steps = 30;
/** Pieces of one step that the scripted model sends with a pause between them. */
const piecesPerStep = 18;

const losses: readonly Loss[] = [
  {
    title: `a cut of ${size.cutMs / 1000} s`,
    streamMs: size.cutMs + 10_000,
    async lose(_, proxy) {
      proxy.cut();
      await Bun.sleep(size.cutMs);
      proxy.restore();
    },
  },
  {
    title: `a browser frozen for ${size.frozenMs / 1000} s`,
    streamMs: size.frozenMs + 10_000,
    async lose() {
      const browser = childrenOf(process.pid).filter(({ command }) => command.includes("chromium"));
      expect(browser.length).toBeGreaterThan(2);
      for (const { pid } of browser) process.kill(pid, "SIGSTOP");
      await Bun.sleep(size.frozenMs);
      for (const { pid } of browser) process.kill(pid, "SIGCONT");
    },
  },
  {
    title: "a hub that is killed and started again",
    streamMs: 12_000,
    async lose({ openWeb }) {
      const { pid } = await openWeb();
      process.kill(pid, "SIGKILL");
      await openWeb();
    },
  },
  {
    title: "a proxy that buffers",
    streamMs: 20_000,
    async lose(_, proxy) {
      for (let round = 0; round < 5; round += 1) {
        proxy.hold();
        await Bun.sleep(2_500);
        proxy.release();
        await Bun.sleep(100);
      }
    },
  },
];

/** Each step has a text that streams for some time and a call with output. */
const work: Script = {
  steps: Array.from({ length: steps }, (_, step) => ({
    text: Array.from({ length: 30 }, (_word, index) => `s${step}w${index}`).join(" "),
    calls: [{ input: { command: `for i in 1 2 3; do echo step ${step} line $i; sleep 0.03; done` } }],
  })),
  final: "Everything is done.",
};
/** A turn that continues after a kill has another last message, so the whole request decides. */
const scriptFor = ({ body }: { body: JsonValue }): Script =>
  JSON.stringify(body).includes("work for a while") ? work : { steps: [], final: "Ready." };

for (const { title, streamMs, lose } of losses)
  for (let batch = 1; batch <= size.batches; batch += 1)
    test(`after ${title}, ${size.pages} pages have all events and nobody loads one again (${batch})`, { timeout: 400_000 }, async () => {
      await using opened = await openPage(scriptFor, { chunkDelayMs: Math.round(streamMs / steps / piecesPerStep) });
      const { page, openWeb, skein } = opened;
      const { port } = await openWeb();
      const proxy = startProxy(() => port);
      try {
        await page.goto("about:blank");
        const { login_url } = await openWeb("--origin", `http://127.0.0.1:${proxy.port}`);
        const received = [collectEvents(page)];
        await page.goto(login_url);
        await page.locator(".line.online").waitFor();
        await startSession(page, "begin");
        await waitForEnd(page);
        const pages = [page, ...(await openMore(opened, received))];
        const loads = await Promise.all(pages.map(loadedAt));
        await page.getByRole("textbox", { name: "message" }).fill("work for a while");
        await page.keyboard.press("Enter");
        await page.getByText("s2w29").first().waitFor({ timeout: 60_000 });
        const before = received.map((seqs) => seqs.length);
        await lose(opened, proxy);
        for (const each of pages) {
          await each.getByText("Everything is done.").waitFor({ timeout: 200_000 });
          await each.locator(".turn-end").last().waitFor();
        }
        expect(await Promise.all(pages.map(loadedAt))).toEqual(loads);

        const session = /session\/([^/]+)/.exec(page.url())![1]!;
        const recorded = (await skein.run(["logs", session, "--json", "--limit", "100000"])).lines() as { seq?: number; n?: number }[];
        const seqs = recorded.flatMap(({ seq, n }) => (n === undefined && seq !== undefined ? [seq] : []));
        expect(seqs.length).toBeGreaterThan(2 * steps);
        for (const [index, got] of received.entries()) {
          expect(got).toEqual(seqs);
          expect(got.length).toBeGreaterThan(before[index]!);
        }
        const fresh = await opened.context.newPage();
        await fresh.goto(page.url());
        await fresh.getByText("Everything is done.").waitFor();
        const blocks = await allBlocks(fresh);
        for (const each of pages) expect(await allBlocks(each)).toEqual(blocks);
      } finally {
        proxy.stop();
      }
    });

async function openMore({ page, context }: OpenedPage, received: number[][]): Promise<Page[]> {
  const pages: Page[] = [];
  for (let index = 1; index < size.pages; index += 1) {
    const another = await context.newPage();
    received.push(collectEvents(another));
    await another.goto(page.url());
    await waitForEnd(another);
    pages.push(another);
  }
  return pages;
}

function loadedAt(page: Page): Promise<number> {
  return page.evaluate<number>("performance.timeOrigin");
}
