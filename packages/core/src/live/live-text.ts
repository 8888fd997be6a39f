import type { JsonValue } from '../lines/json.ts';
import { isJsonObject, readObject, readText } from '../records/fields.ts';
import type { BlockContent } from '../records/records.ts';

/** A text that came in pieces and whose complete line was never seen. */
interface StreamedText {
  parentToolUseId: string | null;
  messageId: string | null;
  text: string;
}

interface StreamedMessage {
  messageId: string | null;
  /** By block index. Completed blocks stay, so that a late piece does not reopen them. */
  blocks: Map<number, { text: string; isGiven: boolean }>;
  characterCount: number;
}

interface PartialTexts {
  /** A response begins; returns texts of the previous one that never came whole. */
  start(parentToolUseId: string | null, messageId: string | null): StreamedText[];
  /** False if the piece belongs to a text that was already emitted whole. */
  append(
    parentToolUseId: string | null,
    messageId: string | null,
    piece: { blockIndex: number; text: string },
  ): boolean;
  /** True if exactly this text came in pieces before; it then counts as emitted. */
  takeWhole(parentToolUseId: string | null, messageId: string | null, text: string): boolean;
  /** The texts that never came whole. */
  release(): StreamedText[];
}

/** Concurrently streaming sub-agents. */
const MAX_MESSAGES = 32;
/** Characters of a response's pieces kept until its complete lines come. Longer texts still come with those lines. */
const MAX_CHARACTERS = 1024 * 1024;
const MAX_BLOCKS = 1000;

/** Joins pieces of text, one response at a time for the main agent and for each sub-agent. */
export function createPartialTexts(): PartialTexts {
  const messages = new Map<string | null, StreamedMessage>();

  const close = (parentToolUseId: string | null): StreamedText[] => {
    const message = messages.get(parentToolUseId);
    messages.delete(parentToolUseId);
    if (message === undefined) return [];
    return [...message.blocks.values()]
      .filter(({ text, isGiven }) => !isGiven && text !== '')
      .map(({ text }) => ({ parentToolUseId, messageId: message.messageId, text }));
  };

  const open = (parentToolUseId: string | null, messageId: string | null): StreamedMessage => {
    const message = { messageId, blocks: new Map(), characterCount: 0 };
    messages.set(parentToolUseId, message);
    return message;
  };

  return {
    start(parentToolUseId, messageId) {
      const texts = close(parentToolUseId);
      const oldest = messages.size >= MAX_MESSAGES ? messages.keys().next() : undefined;
      if (oldest?.done === false) texts.push(...close(oldest.value));
      open(parentToolUseId, messageId);
      return texts;
    },
    append(parentToolUseId, messageId, { blockIndex, text }) {
      const message =
        messages.get(parentToolUseId) ?? (messages.size < MAX_MESSAGES ? open(parentToolUseId, messageId) : undefined);
      if (message === undefined) return true;
      const block = message.blocks.get(blockIndex);
      if (block?.isGiven === true) return false;
      message.characterCount += text.length;
      if (message.characterCount <= MAX_CHARACTERS && (block !== undefined || message.blocks.size < MAX_BLOCKS)) {
        message.blocks.set(blockIndex, { text: (block?.text ?? '') + text, isGiven: false });
      }
      return true;
    },
    takeWhole(parentToolUseId, messageId, text) {
      const message = messages.get(parentToolUseId);
      if (message === undefined || (message.messageId !== null && message.messageId !== messageId)) return false;
      const waiting = [...message.blocks.values()].filter(({ isGiven }) => !isGiven);
      const exact = waiting.find((block) => block.text === text);
      // A piece was lost. This is not the text that was streamed, so it must be shown whole.
      const block = exact ?? waiting[0];
      if (block !== undefined) Object.assign(block, { text: '', isGiven: true });
      return exact !== undefined;
    },
    release: () => [...messages.keys()].flatMap(close),
  };
}

/** The end of a text of unbounded length, such as an agent's stderr. */
export interface TextTail {
  push(chunk: Uint8Array | string): void;
  toString(): string;
}

/** Keeps the last `maxBytes` of UTF-8, starting at a character boundary. */
export function createTextTail(maxBytes = 4096): TextTail {
  const chunks: Buffer[] = [];
  let length = 0;
  return {
    push(chunk) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      // Copied, so that it does not keep a larger buffer alive.
      const copy = Buffer.from(bytes.subarray(-maxBytes));
      chunks.push(copy);
      length += copy.length;
      for (let first = chunks[0]; first !== undefined && length - first.length >= maxBytes; first = chunks[0]) {
        chunks.shift();
        length -= first.length;
      }
    },
    toString() {
      const tail = Buffer.concat(chunks).subarray(-maxBytes);
      let start = 0;
      while (start < Math.min(tail.length, 3) && ((tail[start] ?? 0) & 0xc0) === 0x80) start++;
      return tail.toString('utf8', start);
    },
  };
}

/**
 * A tool result as text for people, with texts unchanged, images and files by media type and size, anything else as
 * JSON. Empty only if the result is.
 */
export function toOutputText({ result_text: text, metadata }: BlockContent): string {
  const { content, other_parts: others } = metadata;
  const parts = Array.isArray(others) ? others : others === undefined ? [] : [others];
  const texts = [...parts, ...(content === undefined ? [] : [content])].map(toPartText);
  return [...(text === null ? [] : [text]), ...texts].join('\n');
}

function toPartText(part: JsonValue): string {
  if (typeof part === 'string') return part;
  return toMediaText(part) ?? JSON.stringify(part);
}

/** Undefined if the part is not media. Its data have already been replaced by their size. */
function toMediaText(part: JsonValue): string | undefined {
  if (!isJsonObject(part)) return undefined;
  const media = readObject(part.source) ?? part;
  const type = readText(media.media_type) ?? readText(media.mimeType);
  const bytes = media.byte_length;
  return type !== null && typeof bytes === 'number' ? `[${type}, ${bytes} bytes]` : undefined;
}
