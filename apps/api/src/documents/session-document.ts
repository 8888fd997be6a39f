import type { Message, Session } from '@recount/contract';
import { type Database, findTranscript } from '@recount/db';
import { TranscriptRedactor } from '@recount/ingest/secrets';
import { addAttachments } from '../paging/add-attachments.ts';
import { listMessagePage, listSessionPage } from '../paging/list-pages.ts';

/**
 * A session with its messages and its sub-agents' messages, also of theirs. It is the source of the HTML, Markdown and JSON documents.
 */
export interface SessionDocument {
  session: Session;
  messages: Message[];
  /** True if the session has more messages or sub-agents than a document may hold. */
  isCut: boolean;
  subagents: SessionDocument[];
}

export interface DocumentRequest {
  workspaceId: string;
  session: Session;
  /** The row set of the transcript whose messages are shown. */
  rowSetId: string;
  /** Lines of the transcript, from 1, inclusive; undefined means from the beginning, or to the end. */
  fromLine?: number | undefined;
  toLine?: number | undefined;
  /** Sub-agents are included completely, and only if there is no range. */
  hasSubagents: boolean;
  /** Only sub-agents of this person; null means all. */
  onlyNames: readonly string[] | null;
}

/** A document is in memory. Beyond these limits it is cut, and says so. */
const MAX_MESSAGES = 20_000;
const MAX_TEXT_LENGTH = 16 * 1024 * 1024;
/** The numbers and ids of a message, which the number of messages limits. */
const OWN_LENGTH = 700;
/** Each value of JSON takes about as much memory as so many characters, however short it is. */
const VALUE_LENGTH = 60;
/** Characters that are written as up to eight, as markup or by their names. */
const LONG_CHARACTERS = /[<>&\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g;
const MAX_SUBAGENTS = 50;
const PAGE_LIMIT = 200;

/** The rest that a document may hold. */
interface Budget {
  messages: number;
  textLength: number;
  subagents: number;
}

/** Reads a session as it is in the database: `redactDocument` removes secrets. */
export async function loadSessionDocument(database: Database, request: DocumentRequest): Promise<SessionDocument> {
  const { session, fromLine, toLine } = request;
  const budget = { messages: MAX_MESSAGES, textLength: MAX_TEXT_LENGTH, subagents: MAX_SUBAGENTS };
  const isRange = fromLine !== undefined || toLine !== undefined;
  const document: SessionDocument = {
    // The title and first prompt could reveal lines that are left out.
    session: isRange ? { ...session, title: session.session_id, initial_prompt: null } : session,
    ...(await loadMessages(database, { ...request, agent: session.agent }, budget)),
    subagents: [],
  };
  if (request.hasSubagents && !isRange)
    await addSubagents(database, request, document, { budget, known: new Set([session.session_id]) });
  return document;
}

/** Adds the sub-agents of a session, each followed by its own, until there are as many as a document may hold. */
async function addSubagents(
  database: Database,
  request: Pick<DocumentRequest, 'workspaceId' | 'onlyNames'>,
  document: SessionDocument,
  state: { budget: Budget; known: Set<string> },
): Promise<void> {
  const { workspaceId } = request;
  const onlyNames = request.onlyNames ?? undefined;
  const children = { parentSessionId: document.session.session_id, person: onlyNames, onlyNames };
  const page = { sort: 'first_timestamp', order: 'asc', limit: MAX_SUBAGENTS } as const;
  const { sessions, next_cursor: next } = await listSessionPage(database, workspaceId, children, page);
  document.isCut ||= next !== null;
  for (const child of sessions) {
    // A transcript may claim that a session is its own sub-agent, or its sub-agent's.
    if (state.known.has(child.session_id)) continue;
    const transcript = await findTranscript(database, workspaceId, child.primary_transcript_id);
    if (transcript?.row_set_id == null) continue;
    if (state.budget.subagents === 0) {
      document.isCut = true;
      return;
    }
    state.budget.subagents -= 1;
    state.known.add(child.session_id);
    const rows = { workspaceId, agent: child.agent, rowSetId: transcript.row_set_id };
    const loaded = await loadMessages(database, rows, state.budget);
    const subagent: SessionDocument = { session: child, ...loaded, subagents: [] };
    document.subagents.push(subagent);
    await addSubagents(database, request, subagent, state);
  }
}

async function loadMessages(
  database: Database,
  {
    workspaceId,
    rowSetId,
    agent,
    fromLine = 1,
    toLine = Number.POSITIVE_INFINITY,
  }: Pick<DocumentRequest, 'workspaceId' | 'rowSetId' | 'fromLine' | 'toLine'> & { agent: string },
  budget: Budget,
): Promise<Pick<SessionDocument, 'messages' | 'isCut'>> {
  const messages: Message[] = [];
  let cursor: string | undefined;
  do {
    const page = await listMessagePage(database, { workspaceId, rowSetId }, { limit: PAGE_LIMIT, cursor });
    for (const message of await addAttachments(database, { workspaceId, agent }, page.messages)) {
      if (message.line_number < fromLine || message.line_number > toLine) continue;
      budget.messages -= 1;
      budget.textLength -= toLength(message);
      if (budget.messages < 0 || budget.textLength < 0) return { messages, isCut: true };
      messages.push(message);
    }
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return { messages, isCut: false };
}

function toLength(message: Message): number {
  const values = message.content_blocks.flatMap(({ tool_input, metadata }) => [tool_input, metadata]);
  const json = JSON.stringify(message);
  let length = Math.max(0, json.length - OWN_LENGTH) + VALUE_LENGTH * countValues(values);
  for (const [run] of json.matchAll(LONG_CHARACTERS)) length += 7 * run.length;
  return length;
}

const countValues = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 1
    : Object.values(value).reduce<number>((sum, each) => sum + countValues(each), 1);

/** Number of secrets removed, by rule. */
export type RedactionCounts = Record<string, number>;

/** The document with all its secrets replaced by `[REDACTED:<rule>]`. */
export async function redactDocument(
  document: SessionDocument,
): Promise<{ document: SessionDocument; counts: RedactionCounts }> {
  const counts: RedactionCounts = {};
  const redactor = new TranscriptRedactor({
    maxLineBytes: Number.POSITIVE_INFINITY,
    onFinding: ({ rule, count }) => {
      counts[rule] = (counts[rule] ?? 0) + count;
    },
  });
  const redact = async <Value>(value: Value): Promise<Value> =>
    JSON.parse(Buffer.from(await redactor.push(Buffer.from(`${JSON.stringify(value)}\n`))).toString());
  const redactAll = async ({ session, messages, subagents, isCut }: SessionDocument): Promise<SessionDocument> => ({
    isCut,
    session: await redact(session),
    messages: messages.length === 0 ? [] : await redact(messages),
    subagents: await Promise.all(subagents.map(redactAll)),
  });
  return { document: await redactAll(document), counts };
}

/**
 * Only the document's structure (who spoke when, tools by name, sizes, models and figures, without texts, paths and
 * names).
 */
export function sanitizeDocument({ session, messages, isCut, subagents }: SessionDocument): SessionDocument {
  return {
    isCut,
    session: {
      ...session,
      title: session.session_id,
      initial_prompt: null,
      project: null,
      git_branch: null,
      machine: null,
      person: null,
      sent_person: null,
    },
    messages: messages.map((message) => ({
      ...message,
      metadata: {},
      content_blocks: message.content_blocks.map(({ attachment: _attachment, metadata, ...block }) => ({
        ...block,
        metadata: {},
        content_text: toSize(block.content_text, metadata),
        thinking_text: toSize(block.thinking_text, metadata),
        result_text: toSize(block.result_text, metadata),
        tool_input: null,
      })),
    })),
    subagents: subagents.map(sanitizeDocument),
  };
}

function toSize(text: string | null, { truncated }: Message['metadata']): string | null {
  if (text === null) return null;
  const words = text.split(/\s+/).filter(Boolean).length.toLocaleString('en-US');
  return truncated === true ? `[${words} words, and more]` : `[${words} words]`;
}
