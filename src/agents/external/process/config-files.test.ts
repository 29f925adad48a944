import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linkConfigFile, readConfigFile, writeConfigFile } from "./config-files.ts";

let root: string;
let configDir: string;
let outside: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "skein-own-"));
  configDir = join(root, "own");
  outside = join(root, "outside");
  for (const folder of [configDir, outside]) mkdirSync(folder);
  writeFileSync(join(outside, "settings.json"), "the user's");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("files in a CLI's configuration directory", () => {
  test("a file and its directories are readable only by their owner", () => {
    writeConfigFile(configDir, "a/b/settings.json", "one");
    writeConfigFile(configDir, "a/b/settings.json", "two");
    expect(readConfigFile(configDir, "a/b/settings.json")).toBe("two");
    expect(readdirSync(join(configDir, "a/b"))).toEqual(["settings.json"]);
    expect([statSync(join(configDir, "a")).mode & 0o777, statSync(join(configDir, "a/b/settings.json")).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
  });

  test("a link to the user's file replaces anything at its path, and is removed again", () => {
    const target = join(outside, "settings.json");
    mkdirSync(join(configDir, "a/auth.json"), { recursive: true });
    for (const linkTarget of [target, target, null, null]) {
      linkConfigFile(configDir, "a/auth.json", linkTarget);
      expect(existsSync(join(configDir, "a/auth.json"))).toBe(linkTarget !== null);
    }
    linkConfigFile(configDir, "a/auth.json", target);
    expect(readlinkSync(join(configDir, "a/auth.json"))).toBe(target);
    linkConfigFile(configDir, "a/auth.json", null);
    expect(readFileSync(target, "utf8")).toBe("the user's");
  });

  test("a written file replaces a link and does not follow it", () => {
    symlinkSync(join(outside, "settings.json"), join(configDir, "settings.json"));
    writeConfigFile(configDir, "settings.json", "ours");
    expect(readFileSync(join(outside, "settings.json"), "utf8")).toBe("the user's");
    expect(lstatSync(join(configDir, "settings.json")).isFile()).toBe(true);
  });

  test("a directory that was replaced by a link is created again", () => {
    symlinkSync(outside, join(configDir, "config"));
    writeConfigFile(configDir, "config/settings.json", "ours");
    writeConfigFile(configDir, "config/deep/er", "ours");
    expect(readFileSync(join(outside, "settings.json"), "utf8")).toBe("the user's");
    expect(readdirSync(outside)).toEqual(["settings.json"]);
    expect(readConfigFile(configDir, "config/settings.json")).toBe("ours");
  });

  test("reading follows no link and creates no directory", () => {
    symlinkSync(join(outside, "settings.json"), join(configDir, "settings.json"));
    symlinkSync(outside, join(configDir, "config"));
    expect([
      readConfigFile(configDir, "settings.json"),
      readConfigFile(configDir, "config/settings.json"),
      readConfigFile(configDir, "no/such"),
    ]).toEqual([null, null, null]);
    expect([lstatSync(join(configDir, "config")).isSymbolicLink(), existsSync(join(configDir, "no"))]).toEqual([true, false]);
  });
});
