// A headless Chromium for a test, driven over its debugging socket. It ends with the test.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Page = {
  open: (url: string) => Promise<void>;
  /** Evaluates an expression in the page and returns its JSON value. Waits for a promise. */
  evaluate: <T>(expression: string) => Promise<T>;
  /** Resolves as soon as the expression is true. */
  until: (expression: string) => Promise<void>;
  type: (text: string) => Promise<void>;
  press: (key: "Enter" | "Escape") => Promise<void>;
  screenshot: (file: string, size?: { width: number; height: number; isDark?: boolean }) => Promise<void>;
  /** Requests, console errors and blocked scripts since the start. */
  requests: string[];
  problems: string[];
  [Symbol.asyncDispose]: () => Promise<void>;
};

/** Fields of the debugging protocol that this file reads. */
type Fields = {
  request?: { url: string };
  entry?: { text: string };
  exceptionDetails?: unknown;
  result?: { value: unknown };
  data?: string;
};
type Reply = { id?: number; method?: string; params?: Fields; result?: Fields; error?: { message: string } };

export type BrowserOptions = {
  /** Stands before Chromium, such as a command that lowers its priority. */
  prefix?: readonly string[];
  /** Without it, `requests` and `problems` stay empty, and this process gets no event for each frame. */
  isObserved?: boolean;
};

export async function openBrowser({ prefix = [], isObserved = true }: BrowserOptions = {}): Promise<Page> {
  const profile = mkdtempSync(join(tmpdir(), "skein-browser-"));
  const child = Bun.spawn(
    [
      ...prefix,
      "chromium",
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--no-first-run",
      "--remote-debugging-port=0",
      `--user-data-dir=${profile}`,
      "about:blank",
    ],
    { stdin: "ignore", stdout: "ignore", stderr: "pipe" },
  );
  const browserUrl = await debuggingUrl(child.stderr);
  const { host } = new URL(browserUrl);
  const targets = (await (await fetch(`http://${host}/json/list`)).json()) as { type: string; webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(targets.find(({ type }) => type === "page")!.webSocketDebuggerUrl);
  await new Promise((opened) => socket.addEventListener("open", opened));
  const waiting = new Map<number, PromiseWithResolvers<Fields>>();
  const requests: string[] = [];
  const problems: string[] = [];
  let loaded = Promise.withResolvers<void>();
  socket.addEventListener("message", ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply;
    if (reply.method === "Network.requestWillBeSent") requests.push(String(reply.params?.request?.url));
    if (reply.method === "Log.entryAdded") problems.push(String(reply.params?.entry?.text));
    if (reply.method === "Runtime.exceptionThrown") problems.push(JSON.stringify(reply.params?.exceptionDetails));
    if (reply.method === "Page.loadEventFired") loaded.resolve();
    const call = waiting.get(reply.id ?? -1);
    if (reply.error !== undefined) call?.reject(new Error(reply.error.message));
    else call?.resolve(reply.result ?? {});
  });
  let lastId = 0;
  function send(method: string, params: Record<string, unknown> = {}): Promise<Fields> {
    lastId += 1;
    const call = Promise.withResolvers<Fields>();
    waiting.set(lastId, call);
    socket.send(JSON.stringify({ id: lastId, method, params }));
    return call.promise;
  }
  for (const domain of isObserved ? ["Page", "Network", "Log", "Runtime"] : ["Page"]) await send(`${domain}.enable`);
  async function evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result?.value as T;
  }
  return {
    async open(url) {
      loaded = Promise.withResolvers<void>();
      await send("Page.navigate", { url });
      await loaded.promise;
    },
    evaluate,
    async until(expression) {
      const deadline = performance.now() + 60_000;
      while (!(await evaluate<boolean>(`Boolean(${expression})`))) {
        if (performance.now() > deadline) throw new Error(`the page never became: ${expression}`);
        await Bun.sleep(30);
      }
    },
    type: async (text) => void (await send("Input.insertText", { text })),
    async press(key) {
      const code = { Enter: 13, Escape: 27 }[key];
      const text = key === "Enter" ? "\r" : "";
      for (const type of ["keyDown", "keyUp"])
        await send("Input.dispatchKeyEvent", {
          type,
          key,
          code: key,
          windowsVirtualKeyCode: code,
          ...(type === "keyDown" ? { text } : {}),
        });
    },
    async screenshot(file, { width, height, isDark = false } = { width: 1200, height: 900 }) {
      await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
      await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: isDark ? "dark" : "light" }] });
      const { data } = await send("Page.captureScreenshot", { format: "png" });
      await Bun.write(file, Buffer.from(String(data), "base64"));
    },
    requests,
    problems,
    async [Symbol.asyncDispose]() {
      socket.close();
      child.kill();
      await child.exited;
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The address that Chromium prints when it listens. */
async function debuggingUrl(stderr: ReadableStream<Uint8Array>): Promise<string> {
  let printed = "";
  const decoder = new TextDecoder();
  for await (const chunk of stderr) {
    printed += decoder.decode(chunk, { stream: true });
    const url = /DevTools listening on (ws:\S+)/.exec(printed)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`Chromium did not start:\n${printed}`);
}
