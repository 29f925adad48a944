// The table of command lines that can take a turn, by name.
import type { Adapter } from "./adapter.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";

export const adapters: Readonly<Record<string, Adapter>> = { claude, codex, gemini, opencode, pi };
