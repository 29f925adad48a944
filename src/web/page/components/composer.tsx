// The field for a message, with agent, model and policy. The text is stored in the browser until it is sent, so that a reload
// or a crash of the page loses nothing.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useKeys, type KeyBinding } from "../keys.ts";
import type { Message } from "../state/start-turn.ts";
import { Problem, problemText } from "./action.tsx";
import { Choices, type Choice } from "./composer-choices.tsx";
import { Picture } from "./picture.tsx";

export type ComposerAction = { label: string; tone?: "primary" | "plain"; title?: string; run: (message: Message) => Promise<void> };

type ComposerProps = {
  /** The name of the stored draft. */
  draftName: string;
  placeholder: string;
  /** The session's agent and model, which a message uses unless another is chosen; null for a new session. */
  current: { agent: string; model: string | null } | null;
  /** The first action is that of Enter. */
  actions: readonly ComposerAction[];
  extra?: ComponentChildren;
};

const maxImages = 8;

export function Composer({ draftName, placeholder, current, actions, extra }: ComposerProps) {
  const { text, setText, images, setImages, choice, setChoice, problem, isBusy, isEmpty, send } = useDraft(draftName);
  const field = useRef<HTMLTextAreaElement>(null);
  const keys = useMemo(() => composerKeys(field), []);
  useKeys(keys);
  return (
    <form
      class="composer"
      aria-label="message"
      onSubmit={(event) => {
        event.preventDefault();
        void send(actions[0]);
      }}
    >
      <textarea
        ref={field}
        aria-label="message"
        placeholder={placeholder}
        rows={Math.min(12, Math.max(2, text.split("\n").length))}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void send(actions[0]);
        }}
        onPaste={(event) =>
          void readImages(event.clipboardData).then((added) => setImages((before) => [...before, ...added].slice(0, maxImages)))
        }
      />
      <Thumbnails images={images} onRemove={(index) => setImages(images.filter((_, at) => at !== index))} />
      <div class="row wrap">
        {extra}
        <Choices current={current} choice={choice} onChange={setChoice} />
        <span class="end buttons">
          {actions.map((action, index) => (
            <button
              key={action.label}
              type={index === 0 ? "submit" : "button"}
              class={`button ${action.tone ?? "plain"}`}
              title={action.title}
              disabled={isBusy || isEmpty}
              onClick={index === 0 ? undefined : () => void send(action)}
            >
              {action.label}
            </button>
          ))}
        </span>
      </div>
      {problem !== null && <Problem text={problem} />}
    </form>
  );
}

function composerKeys(field: { current: HTMLTextAreaElement | null }): KeyBinding[] {
  return [
    { keys: "c", summary: "write a message", run: () => field.current?.focus() },
    { keys: "Escape", summary: "leave the field", isInFields: true, run: () => (document.activeElement as HTMLElement | null)?.blur() },
  ];
}

/** The message that is being written. It is empty again when an action has sent it. */
function useDraft(draftName: string) {
  const storage = `skein-draft:${draftName}`;
  const [text, setText] = useState(() => sessionStorage.getItem(storage) ?? "");
  const [choice, setChoice] = useState<Choice>({ agent: "", model: "", policy: "" });
  const [images, setImages] = useState<Message["images"]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => sessionStorage.setItem(storage, text), [storage, text]);
  const isEmpty = text.trim() === "" && images.length === 0;
  const send = async (action: ComposerAction | undefined): Promise<void> => {
    if (action === undefined || isBusy || isEmpty) return;
    setBusy(true);
    setProblem(null);
    try {
      await action.run({ text, agent: choice.agent || null, model: choice.model || null, policy: choice.policy || null, images });
      setText((now) => (now === text ? "" : now));
      sessionStorage.removeItem(storage);
      setImages([]);
    } catch (error) {
      setProblem(problemText(error));
    } finally {
      setBusy(false);
    }
  };
  return { text, setText, images, setImages, choice, setChoice, problem, isBusy, isEmpty, send };
}

function Thumbnails({ images, onRemove }: { images: Message["images"]; onRemove: (index: number) => void }) {
  if (images.length === 0) return null;
  return (
    <div class="thumbnails">
      {images.map((image, index) => (
        <span key={index}>
          <Picture image={image} />
          <button type="button" class="button" aria-label={`remove image ${index + 1}`} onClick={() => onRemove(index)}>
            ×
          </button>
        </span>
      ))}
    </div>
  );
}

async function readImages(data: DataTransfer | null): Promise<Message["images"]> {
  const files = [...(data?.files ?? [])].filter(({ type }) => /^image\/(png|jpeg|gif|webp)$/.test(type));
  return Promise.all(files.map(async (file) => ({ mime: file.type, base64: toBase64(new Uint8Array(await file.arrayBuffer())) })));
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let index = 0; index < bytes.length; index += 8192) text += String.fromCharCode(...bytes.subarray(index, index + 8192));
  return btoa(text);
}
