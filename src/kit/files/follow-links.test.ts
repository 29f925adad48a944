import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findLinkOutOf, followLinks } from "./follow-links.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-links-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const at = (path: string) => join(root, path);
for (const path of ["project/inner", "keys/deep"]) mkdirSync(at(path), { recursive: true });
symlinkSync(at("keys"), at("project/out"));
symlinkSync("inner", at("project/near"));
symlinkSync("../project/out/deep", at("project/relative"));
symlinkSync(at("project"), at("alias"));
symlinkSync("loop", at("loop"));
symlinkSync("missing", at("dangling"));

test("a followed path is the real path, with every link on the way", () => {
  expect(followLinks(at("project/inner"))).toEqual({ path: at("project/inner"), links: [] });
  expect(followLinks(`${root}/alias/near/../out/deep/`)).toEqual({
    path: at("keys/deep"),
    links: [at("alias"), at("project/near"), at("project/out")],
  });
  expect(followLinks(at("project/relative"))).toEqual({ path: at("keys/deep"), links: [at("project/relative"), at("project/out")] });
  expect(followLinks("/")).toEqual({ path: "/", links: [] });
});

test("a loop, a dangling link and a missing path lead nowhere", () => {
  for (const path of ["loop", "dangling", "missing", "missing/below"]) expect(followLinks(at(path))).toBeNull();
});

test("only a link inside of a directory that leads out of it is found", () => {
  const find = (path: string) => findLinkOutOf([at("project")], followLinks(at(path))!);
  expect(find("project/out/deep")).toBe(at("project/out"));
  expect(find("project/near")).toBeUndefined();
  expect(find("alias/inner")).toBeUndefined();
  expect(find("keys")).toBeUndefined();
});
