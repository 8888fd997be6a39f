import type { TURN_KINDS } from './choices.ts';
import type { ContentBlock, Message } from './messages.ts';

export { type PatchedFile, toEdits, toPatchedFiles } from './edits.ts';

type ConversationBlock = Pick<
  ContentBlock,
  | 'block_type'
  | 'content_text'
  | 'thinking_text'
  | 'tool_name'
  | 'tool_kind'
  | 'tool_use_id'
  | 'tool_result_id'
  | 'is_error'
>;
type TokenCounts = Pick<Message, 'tokens_in' | 'cache_read' | 'cache_write'>;

/** The fields that decide a message's place in a conversation; outlines need no others. */
export type ConversationMessage = Pick<Message, 'message_type' | 'metadata'> &
  Partial<Pick<Message, 'left_out_block_count'>> &
  TokenCounts & { content_blocks: readonly ConversationBlock[] };

/** The parts for drawing a block. A running agent's has no place in a transcript yet. */
export type ShownBlock = ConversationBlock &
  Pick<ContentBlock, 'id' | 'tool_input' | 'result_text' | 'metadata'> &
  Partial<Pick<ContentBlock, 'attachment' | 'line_number' | 'byte_offset' | 'byte_length'>>;

/** The parts for drawing a message. */
export type ShownMessage = Omit<ConversationMessage, 'content_blocks'> &
  Pick<Message, 'id' | 'timestamp'> & { content_blocks: readonly ShownBlock[] };

type BlockOf<M extends ConversationMessage> = M['content_blocks'][number];

/** A tool call with its result. */
export interface ToolStep<M extends ConversationMessage = Message> {
  kind: 'tool';
  use: BlockOf<M>;
  /** Absent if the session ended before it came, or the agent does not keep results. */
  result?: BlockOf<M> | undefined;
  /** The message that contained the result. */
  resultMessage?: M | undefined;
}

export type Step<M extends ConversationMessage = Message> =
  | { kind: 'text' | 'thinking' | 'other'; block: BlockOf<M> }
  | ToolStep<M>
  /** A result whose call is not among the messages. */
  | { kind: 'result'; block: BlockOf<M> };

/**
 * The kind of a turn. It is a user's prompt, the agent's answer, text that the agent's program added for itself
 * (`context`), or a notice of the program (`system`), including summaries of compactions.
 */
type TurnKind = (typeof TURN_KINDS)[number];

/** A message as readers see it, without results that are shown with their calls. */
export interface Turn<M extends ConversationMessage = Message> {
  kind: TurnKind;
  message: M;
  steps: Step<M>[];
  /** Blocks that the page does not hold, of the message and of the results that are shown with its calls. */
  leftOutCount: number;
}

/**
 * Turns messages into a conversation. Each tool result is moved to its call, wherever it came, and messages without
 * other content disappear, unless parts of them are left out. Pure; the messages come from one transcript, in order. On a page of messages, calls whose
 * results are on the next page have none. Join the pages first.
 */
export function toConversation<M extends ConversationMessage = Message>(messages: Iterable<M>): Turn<M>[] {
  const pending = new Map<string, ToolStep<M>>();
  const turns: Turn<M>[] = [];
  for (const message of messages) {
    const steps: Step<M>[] = [];
    let hasMoved = false;
    for (const block of message.content_blocks) {
      const call = block.tool_result_id === null ? undefined : pending.get(block.tool_result_id);
      if (call !== undefined && call.result === undefined) {
        call.result = block;
        call.resultMessage = message;
        hasMoved = true;
        continue;
      }
      const step = toStep<M>(block);
      if (step === undefined) continue;
      steps.push(step);
      if (step.kind === 'tool' && block.tool_use_id !== null) pending.set(block.tool_use_id, step);
    }
    const leftOutCount = message.left_out_block_count ?? 0;
    const last = turns.at(-1);
    if (steps.length > 0 || isNotice(message) || (leftOutCount > 0 && !hasMoved))
      turns.push({ kind: toTurnKind(message, steps), message, steps, leftOutCount });
    else if (last !== undefined) last.leftOutCount += leftOutCount;
  }
  return turns;
}

/** A compaction or an API error is worth a line although it has no text. */
const isNotice = ({ message_type: type, metadata }: ConversationMessage): boolean =>
  type === 'system' && (metadata.compactMetadata !== undefined || metadata.error !== undefined);

/** Leaves out blocks without anything to show, such as signatures of thinking that the vendor withholds. */
function toStep<M extends ConversationMessage>(block: BlockOf<M>): Step<M> | undefined {
  switch (block.block_type) {
    case 'text':
      return isBlank(block.content_text) ? undefined : { kind: 'text', block };
    case 'thinking':
      return isBlank(block.thinking_text) ? undefined : { kind: 'thinking', block };
    case 'tool_use':
      return { kind: 'tool', use: block };
    case 'tool_result':
      return { kind: 'result', block };
    default:
      if (block.tool_name !== null) return { kind: 'tool', use: block };
      return block.tool_result_id === null ? { kind: 'other', block } : { kind: 'result', block };
  }
}

/** A note for readers of a turn whose later blocks are left out; undefined if none are. */
export const describeLeftOut = ({ leftOutCount: count }: Pick<Turn, 'leftOutCount'>): string | undefined =>
  count === 0
    ? undefined
    : `${count.toLocaleString('en-US')} more ${count === 1 ? 'part is' : 'parts are'} in the raw transcript only.`;

const isBlank = (text: string | null): boolean => text === null || text.trim() === '';

/** True if a part failed (a call or a request to the model's API). */
export const hasError = <M extends ConversationMessage>({ message, steps }: Turn<M>): boolean =>
  message.metadata.error !== undefined ||
  message.metadata.level === 'error' ||
  steps.some((step) =>
    step.kind === 'tool' ? step.result?.is_error === true : step.kind === 'result' && step.block.is_error === true,
  );

export const hasEdit = <M extends ConversationMessage>({ steps }: Turn<M>): boolean =>
  steps.some((step) => step.kind === 'tool' && step.use.tool_kind === 'edit');

/** Tokens that a response read, i.e. its whole input. Null if it has no usage. */
export const toContextTokens = ({ tokens_in, cache_read, cache_write }: TokenCounts): number | null =>
  tokens_in === null ? null : tokens_in + (cache_read ?? 0) + (cache_write ?? 0);

/** Text that agents' programs write in the user's place begins with one of their tags. */
const PROGRAM_TEXT =
  /^\s*<(?:command-name|command-message|local-command|system-reminder|environment_context|user_instructions|bash-)/;

function toTurnKind<M extends ConversationMessage>(
  { message_type: type, metadata }: ConversationMessage,
  steps: readonly Step<M>[],
): TurnKind {
  if (type === 'assistant') return 'answer';
  if (type !== 'user') return 'system';
  const [first] = steps;
  const isOfProgram =
    metadata.isMeta === true ||
    metadata.isCompactSummary === true ||
    steps.every(({ kind }) => kind === 'result') ||
    (first?.kind === 'text' && PROGRAM_TEXT.test(first.block.content_text ?? ''));
  return isOfProgram ? 'context' : 'prompt';
}

/**
 * A call's subject in one line (its command, file, pattern, address or prompt). Empty if the input has no such member.
 */
export function describeToolInput(input: unknown): string {
  if (typeof input === 'string') return input;
  if (typeof input !== 'object' || input === null) return '';
  const fields = input as Record<string, unknown>;
  for (const name of SUBJECT_FIELDS) {
    const value = fields[name];
    if (typeof value === 'string' && value !== '') return value;
    // A command as a list of words.
    if (Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string'))
      return value.join(' ');
  }
  return '';
}

const SUBJECT_FIELDS = [
  'command',
  'cmd',
  'file_path',
  'filePath',
  'path',
  'notebook_path',
  'pattern',
  'query',
  'url',
  'skill',
  'description',
  'prompt',
  'input',
] as const;

/** Bidirectional controls make text display in another order than it is stored. */
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Control characters that are invisible, except tab and line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const OTHER_CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

const toCode = (character: string): string =>
  `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** Makes all of a transcript's text visible, and names the characters that would reorder or hide others. */
export const toVisible = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replace(DIRECTION_CONTROLS, toCode).replace(OTHER_CONTROLS, toCode);

/** Who wrote a prompt: a person, or for a sub-agent the agent that started it. */
export const toAsker = ({ is_sidechain }: { is_sidechain: boolean }, isSubagent: boolean): string =>
  isSubagent || is_sidechain ? 'Main agent' : 'You';
