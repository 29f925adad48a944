// The pages to measure: skein's, with a conversation and with a large tree, and opencode's with the same conversation.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBrowser, type Page } from "../test/support/browser.ts";
import { skeinCommand, temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../test/support/temporary-home.ts";
import { installPeers, peerPrograms } from "./peers.ts";
import { environmentOf, opencode } from "./tui-screens.ts";
import { lastWords, opencodeSessionId, piSession } from "./tui-session.ts";
import { clickUntil, heapMb, openUntil, scrollBack, streamAnswer, type Scroll, type Stream } from "./web-page.ts";

export type Conversation = { openMs: number; rows: number; heapMb: number; heapAfterMb: number } & Scroll & Stream;
export type Tree = { openMs: number; clickMs: number; rows: number; heapMb: number } & Scroll;

const fill = async (page: Page, field: string, value: string): Promise<void> => {
  await page.evaluate(`document.querySelector(${JSON.stringify(field)}).focus()`);
  await page.type(value);
};

export async function measureSkein(modelUrl: string, blocks: number): Promise<Conversation & { clickMs: number }> {
  return withImported(modelUrl, blocks, async (page) => {
    const clickMs = await clickUntil(page, ".session-row a", { selector: ".scroller", text: lastWords });
    const openMs = await openUntil(page, await page.evaluate<string>("location.href"), lastWords);
    const figures = {
      clickMs,
      openMs,
      rows: await page.evaluate<number>("document.querySelectorAll('.row-box').length"),
      heapMb: await heapMb(page),
    };
    const scrolled = await scrollBack(page, "document.querySelector('.scroller')");
    await fill(page, "[aria-label=agent]", "native");
    await fill(page, "[aria-label=model]", wireModels.anthropic);
    const streamed = await streamAnswer(page, "document.querySelector('textarea')");
    return { ...figures, ...scrolled, ...streamed, heapAfterMb: await heapMb(page) };
  });
}

/** The tree of a conversation with that many nodes, from a click on its tab. */
export async function measureTree(modelUrl: string, nodes: number): Promise<Tree> {
  return withImported(modelUrl, nodes, async (page) => {
    await clickUntil(page, ".session-row a", { selector: ".scroller", text: lastWords });
    const clickMs = await clickUntil(page, ".tabs a[href$=tree]", { selector: ".tree-picture", text: lastWords });
    const openMs = await openUntil(page, await page.evaluate<string>("location.href"), lastWords);
    const rows = await page.evaluate<number>("document.querySelectorAll('.tree-row').length");
    const scrolled = await scrollBack(page, "document.querySelector('.tree-picture')");
    return { clickMs, openMs, rows, ...scrolled, heapMb: await heapMb(page) };
  });
}

async function withImported<Result>(modelUrl: string, blocks: number, measure: (page: Page) => Promise<Result>): Promise<Result> {
  using skein = temporaryHome(vendorEnv(modelUrl));
  await Bun.write(join(skein.root, "session.jsonl"), piSession(blocks, skein.project));
  await runSkein(skein, ["import", join(skein.root, "session.jsonl")]);
  try {
    await using page = await openBrowser({ isObserved: false });
    const { login_url } = (await runSkein(skein, ["web", "--json"])).json() as { login_url: string };
    await page.open(login_url);
    await page.until("document.querySelector('.session-row a')");
    return await measure(page);
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
  }
}

/** The same conversation in opencode's own page, which its program serves. */
export async function measureOpencode(modelUrl: string, blocks: number): Promise<Conversation> {
  await installPeers(["opencode"]);
  const root = mkdtempSync(join(tmpdir(), "bench-web-"));
  const site = { url: modelUrl, root, home: join(root, "home"), cwd: join(root, "project") };
  for (const directory of [site.home, site.cwd]) mkdirSync(directory);
  Bun.spawnSync(["git", "init", "-q", site.cwd]);
  await opencode.seed(site, blocks);
  const server = Bun.spawn([peerPrograms.opencode, "serve", "--port", "0"], {
    cwd: site.cwd,
    env: environmentOf(opencode, site),
    stdout: "pipe",
    stderr: "ignore",
  });
  try {
    const url = await firstMatch(server.stdout, /listening on (\S+)/);
    await using page = await openBrowser({ isObserved: false });
    const address = `${url}/${Buffer.from(site.cwd).toString("base64url")}/session/${opencodeSessionId}`;
    // The first visit fills the browser's cache and the server's.
    await openUntil(page, address, lastWords);
    const openMs = await openUntil(page, address, lastWords);
    const scroller = `[...document.querySelectorAll("*")].filter((element) => getComputedStyle(element).overflowY !== "visible").toSorted((a, b) => b.scrollHeight - a.scrollHeight)[0]`;
    const figures = {
      openMs,
      rows: await page.evaluate<number>("document.querySelectorAll('[data-message-id], [data-component=session-turn]').length"),
      heapMb: await heapMb(page),
    };
    const scrolled = await scrollBack(page, scroller);
    const streamed = await streamAnswer(page, "document.querySelector('[contenteditable=true]')");
    return { ...figures, ...scrolled, ...streamed, heapAfterMb: await heapMb(page) };
  } finally {
    // It waits for its open connections, for ever if the browser was killed.
    server.kill("SIGKILL");
    await server.exited;
    rmSync(root, { recursive: true, force: true });
  }
}

export async function runSkein(skein: TemporaryHome, args: string[]) {
  const ran = await skein.run(args);
  if (ran.code !== 0) throw new Error(`${[...skeinCommand(), ...args].join(" ")}: ${ran.err}`);
  return ran;
}

export async function firstMatch(stream: ReadableStream<Uint8Array>, pattern: RegExp): Promise<string> {
  let printed = "";
  for await (const chunk of stream) {
    printed += new TextDecoder().decode(chunk);
    const match = pattern.exec(printed);
    if (match !== null) return match[1]!;
  }
  throw new Error(`a program ended and printed only: ${printed}`);
}
