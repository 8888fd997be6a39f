import type { Session, TranscriptRecord } from './session.ts';

interface MetadataKind {
  readonly weight: number;
  create(session: Session): TranscriptRecord;
}

const progressKinds: readonly [MetadataKind, ...MetadataKind[]] = [
  { weight: 36, create: hookProgress },
  { weight: 22, create: bashProgress },
  { weight: 6, create: agentProgress },
];
const otherKinds: readonly [MetadataKind, ...MetadataKind[]] = [
  { weight: 14, create: fileHistorySnapshot },
  { weight: 5, create: queueOperation },
  { weight: 5, create: lastPrompt },
  { weight: 5, create: aiTitle },
  { weight: 4, create: queuedCommand },
  { weight: 2, create: mode },
  { weight: 1, create: prLink },
];

/** A line that is not a message, such as progress, snapshots, titles and the like, weighted by frequency. */
export function createMetadata(session: Session): TranscriptRecord {
  const { random, shape } = session;
  return random.pickWeighted(random.chance(shape.progressShare) ? progressKinds : otherKinds).create(session);
}

function progress(session: Session, data: object): TranscriptRecord {
  const toolUseId = session.apiId('toolu_01');
  return {
    ...session.envelope(),
    type: 'progress',
    data,
    toolUseID: toolUseId,
    parentToolUseID: toolUseId,
    ...session.stamp(),
  };
}

function hookProgress(session: Session): TranscriptRecord {
  const command = `scripts/post-edit.sh --note "${session.text().phrase()}"`;
  return progress(session, { type: 'hook_progress', hookEvent: 'PostToolUse', hookName: 'PostToolUse:Edit', command });
}

function bashProgress(session: Session): TranscriptRecord {
  const fullOutput = session.text().passage(session.random.length(1500, 1.5, 100_000));
  const output = fullOutput.slice(0, 200).trimEnd();
  const elapsedTimeSeconds = session.random.integer(2, 90);
  return progress(session, { type: 'bash_progress', output, fullOutput, elapsedTimeSeconds, timeoutMs: 120_000 });
}

/** A sub-agent's own API response, which some versions also write into the parent's transcript. */
function agentProgress(session: Session): TranscriptRecord {
  const { random } = session;
  const content = [{ type: 'text', text: session.text().passage(random.length(900, 1, 20_000)) }];
  const message = {
    model: 'claude-haiku-4-5-20251001',
    id: session.apiId('msg_01'),
    type: 'message',
    role: 'assistant',
    content,
    stop_reason: null,
    usage: {
      input_tokens: 3,
      cache_creation_input_tokens: random.integer(200, 9000),
      cache_read_input_tokens: random.integer(0, 40_000),
      output_tokens: random.integer(1, 400),
    },
  };
  return progress(session, {
    message: { type: 'assistant', message, requestId: session.apiId('req_011'), uuid: session.uuid() },
    normalizedMessages: [],
    type: 'agent_progress',
    agentId: session.apiId('a').slice(0, 8),
  });
}

function fileHistorySnapshot(session: Session): TranscriptRecord {
  const messageId = session.uuid();
  const text = session.text();
  const backups = Array.from({ length: session.random.integer(1, 14) }, (_, version) => [
    `docs/${text.phrase()}.md`,
    { backupFileName: `${session.apiId('b')}@v${version + 1}`, version: version + 1, backupTime: session.timestamp() },
  ]);
  return {
    type: 'file-history-snapshot',
    messageId,
    snapshot: { messageId, trackedFileBackups: Object.fromEntries(backups), timestamp: session.timestamp() },
    isSnapshotUpdate: true,
  };
}

function queueOperation(session: Session): TranscriptRecord {
  return {
    type: 'queue-operation',
    operation: 'enqueue',
    timestamp: session.timestamp(),
    sessionId: session.sessionId,
    content: session.text().phrase(),
  };
}

function lastPrompt(session: Session): TranscriptRecord {
  const prompt = session.text().passage(session.random.length(240, 0.8, 2000));
  return { type: 'last-prompt', lastPrompt: prompt, leafUuid: session.uuid(), sessionId: session.sessionId };
}

function aiTitle(session: Session): TranscriptRecord {
  return { type: 'ai-title', aiTitle: session.text().phrase(), sessionId: session.sessionId };
}

function queuedCommand(session: Session): TranscriptRecord {
  const prompt = session.text().phrase();
  return {
    ...session.envelope(),
    attachment: { type: 'queued_command', prompt, commandMode: 'prompt', timestamp: session.timestamp() },
    type: 'attachment',
    ...session.stamp(),
  };
}

function mode(session: Session): TranscriptRecord {
  return { type: 'mode', mode: 'normal', sessionId: session.sessionId };
}

function prLink(session: Session): TranscriptRecord {
  const prNumber = session.random.integer(100, 999);
  return {
    type: 'pr-link',
    sessionId: session.sessionId,
    prNumber,
    prUrl: `https://github.com/tidewater-example/ledger-service/pull/${prNumber}`,
    prRepository: 'tidewater-example/ledger-service',
    timestamp: session.timestamp(),
  };
}
