// The content blocks of a prompt as one text and its images. Embedded resources follow the text, each with its address.
import type { ContentBlock } from "@agentclientprotocol/sdk";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { ImageData } from "../../protocol/tree/node.ts";
import { invalidParams } from "../server/request-errors.ts";

export type PromptContent = { text: string; images: ImageData[] };

/** Throws for content that `initialize` does not offer. */
export function readPrompt(blocks: readonly ContentBlock[], directory: string): PromptContent {
  let text = "";
  const resources: string[] = [];
  const images: ImageData[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case "text":
        text += block.text;
        break;
      case "resource_link":
        text += mention(block.uri, directory);
        break;
      case "image":
        images.push({ mime: block.mimeType, base64: block.data });
        break;
      case "resource": {
        const { resource } = block;
        const mime = resource.mimeType ?? "";
        if ("text" in resource) resources.push(resourceText(resource.uri, resource.text, directory));
        else if (mime.startsWith("image/")) images.push({ mime, base64: resource.blob });
        else throw invalidParams(`the resource ${resource.uri} is neither text nor an image`);
        break;
      }
      default:
        throw invalidParams(`a prompt can't contain ${block.type}`);
    }
  }
  const content = [text, ...resources].filter((piece) => piece.trim() !== "").join("\n\n");
  if (content === "" && images.length === 0) throw invalidParams("the prompt is empty");
  return { text: content, images };
}

function resourceText(uri: string, text: string, directory: string): string {
  return `<resource path="${pathOf(uri, directory)}">\n${text.replace(/\n$/, "")}\n</resource>`;
}

function mention(uri: string, directory: string): string {
  return uri.startsWith("file://") ? `@${pathOf(uri, directory)}` : uri;
}

/** Relative for a file in the directory. Lines that follow `#` stay, and so does an address that is no file. */
function pathOf(uri: string, directory: string): string {
  if (!uri.startsWith("file://")) return uri;
  try {
    const { hash } = new URL(uri);
    const path = fileURLToPath(uri.replace(hash, ""));
    const below = relative(directory, path);
    return `${below === "" || below.startsWith(`..${sep}`) || below === ".." ? path : below}${hash}`;
  } catch {
    return uri; // A file of another machine.
  }
}
