// How to run a command, for hints on the screen: `/exec` with the plain preset, `:exec` or a key with the vi one.
import type { SlashName } from "../../protocol/api/slash-commands.ts";
import type { Bindings } from "./bindings.ts";

export function hintFor({ preset }: Bindings, name: SlashName, viKeys = `:${name}`): string {
  return preset === "plain" ? `/${name}` : viKeys;
}
