// A real hub with a scripted model, and its page in a real Chromium. Everything ends with the test.
import { chromium, type BrowserContext, type Page } from "playwright-core";
import { startModelServer, type ModelServer, type ScriptSource } from "../../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../../support/temporary-home.ts";

export const model = wireModels.anthropic;

export type OpenedPage = {
  skein: TemporaryHome;
  models: ModelServer;
  context: BrowserContext;
  page: Page;
  /** Console errors, exceptions and refused requests of all pages. */
  problems: string[];
  /** Requests to another origin than the page's own. */
  foreign: string[];
  /** Runs `skein web` and returns its answer. */
  openWeb: (...flags: string[]) => Promise<{ url: string; login_url: string; pid: number; port: number }>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function openPage(script: ScriptSource, options: { chunkDelayMs?: number } = {}): Promise<OpenedPage> {
  const models = startModelServer(script, options);
  const skein = temporaryHome(vendorEnv(models.url));
  const openWeb = async (...more: string[]) => {
    const ran = await skein.run(["web", "--json", ...more]);
    if (ran.code !== 0) throw new Error(ran.err);
    return ran.json() as Awaited<ReturnType<OpenedPage["openWeb"]>>;
  };
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: flags });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const problems: string[] = [];
  const foreign: string[] = [];
  const { login_url, url } = await openWeb();
  context.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  context.on("weberror", (error) => problems.push(error.error().message));
  context.on("request", (request) => /^(blob:|data:)/.test(request.url()) || request.url().startsWith(url) || foreign.push(request.url()));
  const page = await context.newPage();
  await page.goto(login_url);
  await page.locator(".line.online").waitFor();
  return {
    skein,
    models,
    context,
    page,
    problems,
    foreign,
    openWeb,
    async [Symbol.asyncDispose]() {
      await browser.close();
      await skein.run(["hub", "stop", "--wait", "0"]);
      await models.stop();
      skein[Symbol.dispose]();
    },
  };
}

/** Starts a session from the inbox and waits until its conversation is shown. */
export async function startSession(page: Page, text: string): Promise<void> {
  await page.getByLabel("model", { exact: true }).fill(model);
  await page.getByRole("textbox", { name: "message" }).fill(text);
  await page.keyboard.press("Enter");
  await page.locator(".block.user", { hasText: text.slice(0, 40) }).waitFor();
}

export async function waitForEnd(page: Page, count = 1): Promise<void> {
  await page
    .locator(".turn-end")
    .nth(count - 1)
    .waitFor({ timeout: 60_000 });
}
