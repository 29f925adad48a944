import { expect, test } from "bun:test";
import type { TextStyle } from "../../kit/text/ansi.ts";
import * as exported from "./styles.ts";

const red = 1;
const green = 2;
const magenta = 5;
const cyan = 6;

test("no style uses a colour that is unreadable on a light or dark background, also if bold means bright", () => {
  const styles = Object.values(exported).filter((style): style is TextStyle => typeof style === "object");
  expect(styles.length).toBeGreaterThan(5);
  for (const { color, bold = false } of styles)
    expect([undefined, ...(bold ? [red, magenta] : [red, green, magenta, cyan])]).toContain(color as number | undefined);
});
