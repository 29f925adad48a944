// The line is the page's connection to the hub: a WebSocket that is opened again after every loss. Calls wait for it. Its loss
// ends feeds with an error, so that their reader continues at its last `seq`.
import type { Api } from "../../../protocol/api/api.ts";
import { createStore, type Store } from "../state/store.ts";
import { storedKey } from "./login.ts";
import { followingApi } from "./following-api.ts";
import { proveServer } from "./prove-server.ts";
import { openSocket, type OpenSocket } from "./open-socket.ts";

export type LineState =
  | { status: "connecting" | "online" }
  /** `since` is the time of the loss. What the page shows is from then. */
  | { status: "offline"; since: number; attempts: number; isOtherProgram: boolean }
  /** `isProven` is false if the server that says so may be another program, which came after this page was loaded. */
  | { status: "logged-out"; isProven: boolean }
  /** The hub is of another version, and the page must be loaded again. */
  | { status: "outdated" };

export type Line = {
  state: Store<LineState>;
  /** Calls wait until the line is open. A call that was sent before a loss fails: it may have been carried out. */
  api: Api;
  /** An Api with the configuration of a directory's project, for calls that start work there. */
  apiIn: (directory: string) => Promise<Api>;
  /** Resolves when the server has proven to be the hub of this login, also if its page is of another version. */
  whenProven: () => Promise<void>;
  /** Resolves when the line is open. */
  whenOnline: () => Promise<void>;
};

const retryMs = { first: 250, most: 5_000 };
/** A line that does not answer for so long counts as lost, for example after the machine has slept. */
const checkMs = { every: 15_000, limit: 6_000 };
const keepDirectoryMs = 60_000;

export function createLine(version: string): Line {
  const state = createStore<LineState>({ status: "connecting" });
  let socket: OpenSocket | null = null;
  let opened = Promise.withResolvers<OpenSocket>();
  let proven = Promise.withResolvers<void>();
  let retryNow: () => void = () => {};
  /** Only the server that this page has just come from needs no proof. */
  let isFirstAttempt = true;

  const connect = async (): Promise<void> => {
    for (let attempts = 1; ; attempts += 1) {
      const key = storedKey();
      if (key === null) return state.set({ status: "logged-out", isProven: isFirstAttempt });
      const proof = await proveServer().catch(() => "silent" as const);
      if (proof === "proven") proven.resolve();
      if (proof === "unknown") return state.set({ status: "logged-out", isProven: isFirstAttempt });
      isFirstAttempt = false;
      try {
        if (proof !== "proven") throw new Error("no connection");
        socket = await openSocket({ key, client: `skein page ${version}` });
        break;
      } catch {
        const why = proof === "proven" ? await reasonOfRefusal(version) : null;
        if (why !== null) return state.set(why === "outdated" ? { status: why } : { status: why, isProven: true });
        const before = state.get();
        const since = before.status === "offline" ? before.since : Date.now();
        state.set({ status: "offline", since, attempts, isOtherProgram: proof === "refused" });
        await pause(Math.min(retryMs.first * 2 ** Math.min(attempts - 1, 10), retryMs.most), (wake) => (retryNow = wake));
      }
    }
    if (await isOutdated(version)) return state.set({ status: "outdated" });
    state.set({ status: "online" });
    opened.resolve(socket);
    void watchLine(socket);
    void socket.closed.then(() => {
      socket = null;
      opened = Promise.withResolvers();
      proven = Promise.withResolvers();
      state.set({ status: "offline", since: Date.now(), attempts: 0, isOtherProgram: false });
      void connect();
    });
  };
  void connect();

  // A page that comes back to the foreground must not wait for the next attempt. Its line may have been lost meanwhile.
  const onReturn = () => {
    retryNow();
    if (document.visibilityState === "visible" && socket !== null) void checkLine(socket);
  };
  document.addEventListener("visibilitychange", onReturn);
  window.addEventListener("online", onReturn);
  window.addEventListener("pageshow", onReturn);

  return {
    state,
    api: followingApi(async () => (await opened.promise).api),
    apiIn: directoryApis(version),
    whenProven: () => proven.promise,
    whenOnline: async () => void (await opened.promise),
  };
}

async function watchLine(socket: OpenSocket): Promise<void> {
  while (socket.isOpen()) {
    await pause(checkMs.every);
    if (document.visibilityState === "visible") await checkLine(socket);
  }
}

async function checkLine(socket: OpenSocket): Promise<void> {
  const isAnswered = await Promise.race([
    socket.api.health.check().then(
      () => true,
      () => true,
    ),
    pause(checkMs.limit).then(() => false),
  ]);
  if (!isAnswered) socket.close("no answer");
}

/** The reason why another attempt can't succeed; null if it can. */
async function reasonOfRefusal(version: string): Promise<"logged-out" | "outdated" | null> {
  try {
    const response = await fetch("login", { headers: { "X-Skein-Key": storedKey() ?? "" } });
    if (response.status === 401) return "logged-out";
    return (await isOutdated(version)) ? "outdated" : null;
  } catch {
    return null;
  }
}

/** Whether the hub serves another build of the page than this one. */
async function isOutdated(version: string): Promise<boolean> {
  try {
    const { build } = (await (await fetch("build.json")).json()) as { build: string };
    return version !== "" && build !== version;
  } catch {
    return false;
  }
}

/** Connections with the configuration of one directory. Each is closed when it was not used for a while. */
function directoryApis(version: string): (directory: string) => Promise<Api> {
  const sockets = new Map<string, Promise<OpenSocket>>();
  return async (directory) => {
    const known = sockets.get(directory);
    if (known !== undefined) return (await known).api;
    const created = openForDirectory(version, directory);
    sockets.set(directory, created);
    const forget = () => sockets.delete(directory);
    created.then(
      (socket) => {
        void socket.closed.then(forget);
        setTimeout(() => {
          forget();
          socket.closeWhenIdle();
        }, keepDirectoryMs);
      },
      () => forget(),
    );
    return (await created).api;
  };
}

async function openForDirectory(version: string, directory: string): Promise<OpenSocket> {
  if ((await proveServer()) !== "proven") throw new Error("this address is not that of the hub of this login");
  return openSocket({ key: storedKey() ?? "", client: `skein page ${version}`, directory });
}

function pause(ms: number, onWake: (wake: () => void) => void = () => {}): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    onWake(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
