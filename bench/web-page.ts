// Measures one page in a browser: when a text is shown, the frames while it scrolls and while it streams, its memory.
import type { Page } from "../test/support/browser.ts";
import { median } from "./table.ts";
import { streamEnd, streamPrompt } from "./tui-model.ts";

export type Scroll = { scrollMedianMs: number; scrollLate: number };
export type Stream = { streamMedianMs: number; streamLongestMs: number; streamLate: number };

/** Frames above this are late: one of 60 in a second was left out. */
const lateMs = 32;

/** Opens an address in an empty page. Milliseconds from there until a text is in the document. */
export async function openUntil(page: Page, url: string, text: string): Promise<number> {
  await page.open("about:blank");
  await page.open(url);
  return page.evaluate<number>(`new Promise((done) => {
    const look = () => document.body.textContent.includes(${JSON.stringify(text)}) ? done(performance.now()) : setTimeout(look, 10);
    look();
  })`);
}

/** Milliseconds from a click until a text is in an element. */
export function clickUntil(page: Page, click: string, { selector, text }: { selector: string; text: string }): Promise<number> {
  return page.evaluate<number>(`new Promise((done) => {
    const started = performance.now();
    document.querySelector(${JSON.stringify(click)}).click();
    const look = () => document.querySelector(${JSON.stringify(selector)})?.textContent.includes(${JSON.stringify(text)}) ? done(performance.now() - started) : requestAnimationFrame(look);
    look();
  })`);
}

/** 300 frames, each 300 pixels further back. `scroller` is an expression. */
export async function scrollBack(page: Page, scroller: string): Promise<Scroll> {
  const frames = await page.evaluate<number[]>(`(async () => {
    const scroller = ${scroller};
    scroller.scrollTop = scroller.scrollHeight;
    const frames = [];
    for (let last = await new Promise(requestAnimationFrame); frames.length < 300;) {
      scroller.scrollTop -= 300;
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
    }
    scroller.scrollTop = scroller.scrollHeight;
    return frames;
  })()`);
  return { scrollMedianMs: median(frames), scrollLate: late(frames) };
}

/** Sends the message of the stream. `field` is an expression for the field of the message. */
export async function streamAnswer(page: Page, field: string): Promise<Stream> {
  await page.evaluate(`${field}.focus()`);
  await page.type(streamPrompt);
  await page.evaluate(`(async () => {
    window.frames5000 = [];
    for (let last = await new Promise(requestAnimationFrame); ;) {
      const now = await new Promise(requestAnimationFrame);
      window.frames5000.push(now - last);
      last = now;
    }
  })(), 0`);
  await page.press("Enter");
  await page.until(`document.body.textContent.includes(${JSON.stringify(streamEnd)})`);
  const frames = await page.evaluate<number[]>("window.frames5000");
  return { streamMedianMs: median(frames), streamLongestMs: Math.max(...frames), streamLate: late(frames) };
}

function late(frames: number[]): number {
  return frames.filter((ms) => ms > lateMs).length;
}

export async function heapMb(page: Page): Promise<number> {
  return (await page.evaluate<number>("performance.memory.usedJSHeapSize")) / 1e6;
}
