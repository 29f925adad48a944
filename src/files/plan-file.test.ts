import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { maxPlanBytes } from "../protocol/tree/turn.ts";
import { ensurePlanFile, isPlanFile, readPlanFile } from "./plan-file.ts";

const root = mkdtempSync(join(tmpdir(), "skein-plan-file-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function project(): { path: string; folder: string; file: string } {
  const path = join(root, Bun.randomUUIDv7());
  mkdirSync(path);
  return { path, folder: join(path, ".skein"), file: join(path, ".skein", "plan.md") };
}

describe("the plan's file", () => {
  test("is made with its directory, and stays as it is when it is there", () => {
    const at = project();
    ensurePlanFile(at.path);
    expect(readFileSync(at.file, "utf8")).toBe("");
    writeFileSync(at.file, "1. look");
    const { ino } = statSync(at.file);
    ensurePlanFile(at.path);
    expect([readFileSync(at.file, "utf8"), statSync(at.file).ino]).toEqual(["1. look", ino]);
  });

  test("is read as it is, without text where there is none, and only when it is a plain file of UTF-8", () => {
    const at = project();
    expect(readPlanFile(at.path)).toEqual({ file: at.file, text: "" });
    ensurePlanFile(at.path);
    writeFileSync(at.file, "- [ ] 見る\n");
    expect(readPlanFile(at.path)).toEqual({ file: at.file, text: "- [ ] 見る\n" });
    writeFileSync(at.file, new Uint8Array([0xff, 0xfe]));
    expect(() => readPlanFile(at.path)).toThrow("is not UTF-8 text");
    writeFileSync(at.file, "x".repeat(maxPlanBytes + 1));
    expect(() => readPlanFile(at.path)).toThrow("a plan may have 100000");
    const [link, folder] = [project(), project()];
    mkdirSync(link.folder);
    symlinkSync(at.file, link.file);
    symlinkSync(at.folder, folder.folder);
    expect(() => readPlanFile(link.path)).toThrow("not a plain file of its own");
    expect(() => readPlanFile(folder.path)).toThrow("not in a directory of the project's own");
  });

  test("is no link to somewhere else, whatever the link leads to", () => {
    const outside = join(root, "outside.txt");
    writeFileSync(outside, "theirs");
    const [link, hard, hanging, folder] = [project(), project(), project(), project()];
    for (const { folder: made } of [link, hard, hanging]) mkdirSync(made);
    symlinkSync(outside, link.file);
    linkSync(outside, hard.file);
    symlinkSync(join(root, "not-there"), hanging.file);
    symlinkSync(root, folder.folder);
    for (const at of [link, hard, hanging]) expect(() => ensurePlanFile(at.path)).toThrow("not a plain file of its own");
    expect(() => ensurePlanFile(folder.path)).toThrow("no directory of the project's own");
    expect(readFileSync(outside, "utf8")).toBe("theirs");
  });

  test("is a file", () => {
    const at = project();
    mkdirSync(at.file, { recursive: true });
    expect(() => ensurePlanFile(at.path)).toThrow("not a plain file of its own");
    const other = project();
    writeFileSync(other.folder, "");
    expect(() => ensurePlanFile(other.path)).toThrow("no directory of the project's own");
  });

  test("that can't be made is told with its name", () => {
    expect(() => ensurePlanFile(join(root, "nowhere"))).toThrow(join(root, "nowhere", ".skein", "plan.md"));
    // root may write anywhere
    if (process.getuid?.() === 0) return;
    const at = project();
    chmodSync(at.path, 0o500);
    expect(() => ensurePlanFile(at.path)).toThrow("can't be written");
  });

  test("is known by any of its names, and another file is not it", () => {
    const at = project();
    ensurePlanFile(at.path);
    symlinkSync(at.path, `${at.path}-link`);
    writeFileSync(join(at.path, "plan.md"), "");
    expect([at.file, join(`${at.path}-link`, ".skein", "plan.md")].map((file) => isPlanFile(at.path, file))).toEqual([true, true]);
    expect([join(at.path, "plan.md"), join(at.path, "none")].map((file) => isPlanFile(at.path, file))).toEqual([false, false]);
  });
});
