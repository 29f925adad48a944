// The hub that a screen works through: the one of this machine, or one at an address. Turns then run there, and outlive
// the screen.
import { readFileSync } from "node:fs";
import { connect, type Remote } from "../hub/client.ts";
import { reachHub, type HubSeeker } from "../hub/find-hub.ts";
import { readHubFile } from "../hub/hub-file.ts";
import type { Api } from "../protocol/api.ts";
import { Fault } from "../protocol/error.ts";
import type { Door } from "./command.ts";

export type HubWish = {
  /** `auto` is the one of this machine. */
  at: string;
  directory: string;
  trust: boolean | null;
};

/** One that does not run is started where that is asked for and can be done. */
export async function hubAt(door: Door, { at, directory, trust }: HubWish, how: { start: boolean }): Promise<Api> {
  const { state, home, self, version, env } = door;
  const caller = { directory, ...(trust === null ? {} : { trust }) };
  const seeker: HubSeeker = { state, home, self, version, env };
  const remote = at === "auto" ? await reachHub(seeker, caller, how) : await overWeb(door, at, caller);
  if (remote.welcome.version === version) return remote.api;
  await remote.api.close();
  throw new Fault("hub-unreachable", `the hub is skein ${remote.welcome.version}, and this is ${version}`, {
    hint: "both must be the same: `skein hub stop`, then try again",
  });
}

export function checkHubWish(at: string): void {
  if (at === "auto" || (/^wss?:\/\/[^/]/.test(at) && URL.canParse(at))) return;
  throw new Fault("usage", `--hub can't be "${at}"`, { hint: "auto, or an address like ws://127.0.0.1:4444" });
}

function overWeb(door: Door, at: string, caller: { directory: string; trust?: boolean }): Promise<Remote> {
  const file = readHubFile(door.state);
  const isOurs = file !== null && new URL(file.url).host === new URL(at).host;
  const token = door.env["SKEIN_HUB_TOKEN"] ?? (isOurs ? readFileSync(file.token_file, "utf8").trim() : null);
  if (token === null)
    throw new Fault("hub-unreachable", `nothing is known of a hub at ${at}`, {
      hint: "--hub auto is this machine's; the token of any other is SKEIN_HUB_TOKEN",
    });
  return connect({ url: at, token }, { client: `skein ${door.version}`, ...caller });
}
