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
let own: string;
let outside: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "skein-own-"));
  own = join(root, "own");
  outside = join(root, "outside");
  for (const folder of [own, outside]) mkdirSync(folder);
  writeFileSync(join(outside, "settings.json"), "the user's");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("files in a CLI's configuration directory", () => {
  test("a file and its directories are readable only by their owner", () => {
    writeConfigFile(own, "a/b/settings.json", "one");
    writeConfigFile(own, "a/b/settings.json", "two");
    expect(readConfigFile(own, "a/b/settings.json")).toBe("two");
    expect(readdirSync(join(own, "a/b"))).toEqual(["settings.json"]);
    expect([statSync(join(own, "a")).mode & 0o777, statSync(join(own, "a/b/settings.json")).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  test("a link to the user's file replaces anything at its path, and is removed again", () => {
    const target = join(outside, "settings.json");
    mkdirSync(join(own, "a/auth.json"), { recursive: true });
    for (const wanted of [target, target, null, null]) {
      linkConfigFile(own, "a/auth.json", wanted);
      expect(existsSync(join(own, "a/auth.json"))).toBe(wanted !== null);
    }
    linkConfigFile(own, "a/auth.json", target);
    expect(readlinkSync(join(own, "a/auth.json"))).toBe(target);
    linkConfigFile(own, "a/auth.json", null);
    expect(readFileSync(target, "utf8")).toBe("the user's");
  });

  test("a written file replaces a link and does not follow it", () => {
    symlinkSync(join(outside, "settings.json"), join(own, "settings.json"));
    writeConfigFile(own, "settings.json", "ours");
    expect(readFileSync(join(outside, "settings.json"), "utf8")).toBe("the user's");
    expect(lstatSync(join(own, "settings.json")).isFile()).toBe(true);
  });

  test("a directory that was replaced by a link is created again", () => {
    symlinkSync(outside, join(own, "config"));
    writeConfigFile(own, "config/settings.json", "ours");
    writeConfigFile(own, "config/deep/er", "ours");
    expect(readFileSync(join(outside, "settings.json"), "utf8")).toBe("the user's");
    expect(readdirSync(outside)).toEqual(["settings.json"]);
    expect(readConfigFile(own, "config/settings.json")).toBe("ours");
  });

  test("reading follows no link and creates no directory", () => {
    symlinkSync(join(outside, "settings.json"), join(own, "settings.json"));
    symlinkSync(outside, join(own, "config"));
    expect([readConfigFile(own, "settings.json"), readConfigFile(own, "config/settings.json"), readConfigFile(own, "no/such")]).toEqual([
      null,
      null,
      null,
    ]);
    expect([lstatSync(join(own, "config")).isSymbolicLink(), existsSync(join(own, "no"))]).toEqual([true, false]);
  });
});
