// Turns the content of a server's answer into the outcome of a tool call: texts as text, images as images, and a short
// line for content that the model can't use.
import type { ContentBlock, GetPromptResult, ReadResourceResult } from "@modelcontextprotocol/client";
import { oneLine } from "../kit/text/cut-text.ts";
import type { ToolOutcome } from "../protocol/api/ports.ts";
import type { ImageData } from "../protocol/tree/node.ts";

/** The formats that vendors accept. */
const imageTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const maxImageBytes = 5 << 20;
const maxImages = 20;
/** The sum for all images of one result. Some vendors refuse a request with more. */
const maxTotalBytes = 10 << 20;

export function outcomeOf(content: readonly ContentBlock[], structured: unknown, isError: boolean): ToolOutcome {
  const images: ImageData[] = [];
  const texts = content.map((block) => blockText(block, images));
  // A server that has structured content should also send it as text, but some do not.
  if (!texts.some((text) => text !== "") && structured !== undefined) texts.push(JSON.stringify(structured));
  const text = texts.filter((part) => part !== "").join("\n") || "(no output)";
  return { text, isError, ...(images.length > 0 ? { images } : {}) };
}

export function resourceOutcome({ contents }: ReadResourceResult): ToolOutcome {
  return outcomeOf(
    contents.map((resource) => ({ type: "resource", resource })),
    undefined,
    false,
  );
}

export function promptOutcome({ description, messages }: GetPromptResult): ToolOutcome {
  const images: ImageData[] = [];
  const texts = messages.map(({ role, content }) => `${role}: ${blockText(content, images)}`);
  const text = [...(description ? [description] : []), ...texts].join("\n\n");
  return { text: text || "(no messages)", isError: false, ...(images.length > 0 ? { images } : {}) };
}

/** Adds an image to `images`, if the model can see it. */
function blockText(block: ContentBlock, images: ImageData[]): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return imageText(block, images);
    case "audio":
      return `[audio, ${oneLine(block.mimeType, 60)}, ${sizeOf(block.data)} bytes, left out]`;
    case "resource_link":
      return oneLine(`[resource ${block.uri}: ${block.title ?? block.name}]`, 400);
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return resource.text;
      const mimeType = resource.mimeType ?? "binary data";
      if (imageTypes.has(mimeType)) return imageText({ data: resource.blob, mimeType }, images);
      return `[${oneLine(mimeType, 60)}, ${sizeOf(resource.blob)} bytes of ${oneLine(resource.uri, 300)}, left out]`;
    }
    default:
      return "[content of an unknown kind, left out]";
  }
}

function imageText({ data, mimeType }: { data: string; mimeType: string }, images: ImageData[]): string {
  const size = sizeOf(data);
  const about = `${oneLine(mimeType, 60)}, ${size} bytes`;
  if (!imageTypes.has(mimeType) || !/^[A-Za-z0-9+/]*={0,2}$/.test(data)) return `[${about}, left out: the model can't see it]`;
  if (size > maxImageBytes) return `[${about}, left out: at most ${maxImageBytes} bytes can be shown]`;
  if (images.length >= maxImages) return `[${about}, left out: at most ${maxImages} images can be shown]`;
  const total = images.reduce((sum, { base64 }) => sum + sizeOf(base64), size);
  if (total > maxTotalBytes) return `[${about}, left out: all images of a result may have ${maxTotalBytes} bytes]`;
  images.push({ mime: mimeType, base64: data });
  return `[${about}]`;
}

function sizeOf(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}
