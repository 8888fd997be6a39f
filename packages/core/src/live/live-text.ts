import type { BlockContent } from '../agents/records.ts';
import { isJsonObject, readObject, readText } from '../records/fields.ts';
import type { JsonValue } from '../rows.ts';

/** A text that came in pieces and of which no whole line was seen. */
interface StreamedText {
  parentToolUseId: string | null;
  messageId: string | null;
  text: string;
}

interface StreamedMessage {
  messageId: string | null;
  /** By the block's index. Blocks given whole are kept, so that a late piece does not open them again. */
  blocks: Map<number, { text: string; isGiven: boolean }>;
  characterCount: number;
}

interface PartialTexts {
  /** A response begins; gives the texts of the one before that never came whole. */
  start(parentToolUseId: string | null, messageId: string | null): StreamedText[];
  /** False where the piece belongs to a text that was given whole already. */
  append(
    parentToolUseId: string | null,
    messageId: string | null,
    piece: { blockIndex: number; text: string },
  ): boolean;
  /** Whether just this text came in pieces before; it then counts as given. */
  takeWhole(parentToolUseId: string | null, messageId: string | null, text: string): boolean;
  /** The texts that never came whole. */
  release(): StreamedText[];
}

/** Sub-agents that stream at the same time. */
const MAX_MESSAGES = 32;
/** How much is kept of a response's pieces until its whole lines come; a longer text still comes with those. */
const MAX_CHARACTERS = 1024 * 1024;
const MAX_BLOCKS = 1000;

/** Joins the pieces of texts, one response at a time for each sub-agent and for the agent itself. */
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
      // A piece was lost: the text is not the one that was streamed, and has to be shown whole.
      const block = exact ?? waiting[0];
      if (block !== undefined) Object.assign(block, { text: '', isGiven: true });
      return exact !== undefined;
    },
    release: () => [...messages.keys()].flatMap(close),
  };
}

/** The end of a text that may never end, such as an agent's stderr. */
export interface TextTail {
  push(chunk: Uint8Array | string): void;
  toString(): string;
}

/** Keeps the last `maxBytes` of UTF-8, from a whole character on. */
export function createTextTail(maxBytes = 4096): TextTail {
  let tail: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      const added =
        typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      // A copy, which holds on to nothing else.
      tail = Buffer.concat([tail, added.subarray(-maxBytes)]).subarray(-maxBytes);
    },
    toString() {
      let start = 0;
      while (start < Math.min(tail.length, 3) && ((tail[start] ?? 0) & 0xc0) === 0x80) start++;
      return tail.toString('utf8', start);
    },
  };
}

/**
 * A tool result as text for people: texts as they are, an image or a file by its media type and size, anything else as
 * its JSON. Empty only if the result is.
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

/** Undefined for what is no media; their data have been replaced by their size already. */
function toMediaText(part: JsonValue): string | undefined {
  if (!isJsonObject(part)) return undefined;
  const media = readObject(part.source) ?? part;
  const type = readText(media.media_type) ?? readText(media.mimeType);
  const bytes = media.byte_length;
  return type !== null && typeof bytes === 'number' ? `[${type}, ${bytes} bytes]` : undefined;
}
