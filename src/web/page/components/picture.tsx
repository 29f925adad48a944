// An image of a conversation, shown from memory. Only types without scripts are shown, so no SVG.
import { useEffect, useState } from "preact/hooks";
import type { ImageData } from "../../../protocol/tree/node.ts";

const shownTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export function Picture({ image: { mime, base64 } }: { image: ImageData }) {
  const [url, setUrl] = useState<string | null>(null);
  const [isBroken, setBroken] = useState(false);
  const isShown = shownTypes.has(mime);
  useEffect(() => {
    if (!isShown) return;
    const bytes = decodeBase64(base64);
    setBroken(bytes === null);
    if (bytes === null) return;
    const created = URL.createObjectURL(new Blob([bytes], { type: mime }));
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [base64, isShown, mime]);
  if (!isShown) return <p class="faint">image of type {mime}, not shown</p>;
  if (isBroken) return <p class="faint">damaged image, not shown</p>;
  return url === null ? null : <img class="picture" src={url} alt="image of the conversation" />;
}

/** Null if the text is not base64. */
function decodeBase64(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
