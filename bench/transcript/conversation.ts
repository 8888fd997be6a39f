import type { Session, TranscriptRecord } from './session.ts';
import { createToolCall } from './tools.ts';

/** A record, and how many lines after its turn it is written. */
export interface ConversationLine {
  readonly record: TranscriptRecord;
  readonly delayLines: number;
}

/** Tokens in the model's context, carried from one API response to the next. */
interface Context {
  model: string;
  tokens: number;
}

interface Model {
  readonly weight: number;
  readonly id: string;
}

/** Kept below 350 so that the whole message, whose first lines are on time, spans at most that. */
const maxDelayLines = 340;
const lateShare = 0.02;
const compactAtTokens = 170_000;
const models: readonly [Model, ...Model[]] = [
  { weight: 6, id: 'claude-opus-5' },
  { weight: 3, id: 'claude-sonnet-5' },
  { weight: 1, id: 'claude-haiku-4-5-20251001' },
];

/** User, assistant and system lines of one session, without end. */
export function* generateConversation(session: Session): Generator<ConversationLine> {
  const context: Context = { model: models[0].id, tokens: 18_000 };
  while (true) {
    context.model = session.random.pickWeighted(models).id;
    yield onTime(userPrompt(session));
    const responses = session.random.integer(2, 24);
    for (let index = 0; index < responses; index += 1) yield* apiResponse(session, context, 'tool_use');
    yield* apiResponse(session, context, 'end_turn');
    yield onTime(turnDuration(session));
    if (context.tokens > compactAtTokens) {
      yield onTime(compactBoundary(session, context));
      yield onTime(compactSummary(session));
      context.tokens = 24_000;
    }
  }
}

/**
 * One API response, with one line for each content block, and the tools' answers after their calls or after all calls.
 */
function* apiResponse(
  session: Session,
  context: Context,
  stopReason: 'tool_use' | 'end_turn',
): Generator<ConversationLine> {
  const { random } = session;
  const isLastOfTurn = stopReason === 'end_turn';
  const blocks: Block[] = [
    ...(random.chance(0.4) ? [thinkingBlock(session)] : []),
    ...(isLastOfTurn || random.chance(0.3) ? [textBlock(session)] : []),
    ...(isLastOfTurn ? [] : Array.from({ length: random.integer(1, 2) }, () => toolUseBlock(session))),
  ];
  const toAssistantLine = createAssistantMessage(session, context, blocks, stopReason);
  const answersFollowEachCall = random.chance(0.5);
  const heldBack: ConversationLine[] = [];
  for (const [index, block] of blocks.entries()) {
    const isLast = index === blocks.length - 1;
    const isLate = isLast && blocks.length > 1 && random.chance(lateShare);
    yield { record: toAssistantLine(block, isLast), delayLines: isLate ? random.integer(2, maxDelayLines) : 0 };
    if (!block.answer) continue;
    if (answersFollowEachCall) yield onTime(block.answer());
    else heldBack.push(onTime(block.answer()));
  }
  yield* heldBack;
}

interface Block {
  readonly content: object;
  readonly characters: number;
  readonly answer?: () => TranscriptRecord;
}

/** Turns each block of one message into its line; only the last line has the final usage. */
function createAssistantMessage(
  session: Session,
  context: Context,
  blocks: readonly Block[],
  stopReason: string,
): (block: Block, isLast: boolean) => TranscriptRecord {
  const { random } = session;
  const { model } = context;
  const id = session.apiId('msg_01');
  const requestId = session.apiId('req_011');
  const outputTokens = 9 + blocks.reduce((total, block) => total + toTokens(block.characters), 0);
  const placeholderTokens = random.integer(1, 8);
  const cacheWriteTokens = random.integer(200, 6000);
  const usage = {
    input_tokens: random.integer(2, 12),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: context.tokens,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: cacheWriteTokens },
  };
  context.tokens += cacheWriteTokens + outputTokens;
  return (block, isLast) => ({
    ...session.envelope(),
    message: {
      model,
      id,
      type: 'message',
      role: 'assistant',
      content: [block.content],
      stop_reason: isLast ? stopReason : null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: isLast ? outputTokens : placeholderTokens, service_tier: 'standard' },
    },
    requestId,
    type: 'assistant',
    ...session.stamp(),
  });
}

function thinkingBlock(session: Session): Block {
  const thinking = session.text().passage(session.random.length(1500, 1, 30_000));
  const signature = session.apiId('EqMD').repeat(12);
  return { content: { type: 'thinking', thinking, signature }, characters: thinking.length };
}

function textBlock(session: Session): Block {
  const text = session.text().passage(session.random.length(900, 1, 20_000));
  return { content: { type: 'text', text }, characters: text.length };
}

function toolUseBlock(session: Session): Block {
  const id = session.apiId('toolu_01');
  const { name, input, content, toolUseResult } = createToolCall(session);
  return {
    content: { type: 'tool_use', id, name, input },
    characters: JSON.stringify(input).length,
    answer: () => ({
      ...session.envelope(),
      type: 'user',
      message: { role: 'user', content: [{ tool_use_id: id, type: 'tool_result', content }] },
      ...session.stamp(),
      toolUseResult,
    }),
  };
}

function userPrompt(session: Session): TranscriptRecord {
  const { random } = session;
  const text = session.text().passage(random.length(240, 1.2, 40_000));
  const image = () => ({
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: session.apiId('iVBORw0KGgo').repeat(900) },
  });
  return {
    ...session.envelope(),
    type: 'user',
    message: { role: 'user', content: random.chance(0.05) ? [{ type: 'text', text }, image()] : text },
    ...session.stamp(),
    permissionMode: 'default',
  };
}

function turnDuration(session: Session): TranscriptRecord {
  const durationMs = session.random.length(90_000, 1, 3_600_000);
  return {
    ...session.envelope(),
    type: 'system',
    subtype: 'turn_duration',
    durationMs,
    ...session.stamp(),
    isMeta: false,
  };
}

function compactBoundary(session: Session, context: Context): TranscriptRecord {
  return {
    ...session.envelope(),
    type: 'system',
    subtype: 'compact_boundary',
    content: 'Conversation compacted',
    level: 'info',
    compactMetadata: { trigger: 'auto', preTokens: context.tokens },
    ...session.stamp(),
  };
}

function compactSummary(session: Session): TranscriptRecord {
  const content = session.text().passage(session.random.length(8000, 0.4, 40_000));
  return {
    ...session.envelope(),
    type: 'user',
    message: { role: 'user', content },
    isCompactSummary: true,
    ...session.stamp(),
  };
}

function onTime(record: TranscriptRecord): ConversationLine {
  return { record, delayLines: 0 };
}

/** About four characters for each token. */
function toTokens(characters: number): number {
  return Math.ceil(characters / 4);
}
