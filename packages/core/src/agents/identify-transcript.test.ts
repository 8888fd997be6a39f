import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toJsonl, userLine } from '../testing/transcript-lines.ts';
import { IDENTIFY_HEAD_BYTES, identifyTranscript } from './identify-transcript.ts';

const session = '0ccf1a04-1b4c-43b6-8aa5-79e41db43a68';
const main = Buffer.from(
  toJsonl({ type: 'summary', summary: 'x' }, userLine('hi', { sessionId: 'from-line', isSidechain: false })),
);
const subagent = Buffer.from(
  toJsonl(
    userLine('hi', { sessionId: 'parent-from-line', isSidechain: true, agentId: 'a1', uuid: 'u', parentUuid: null }),
  ),
);

describe('identifyTranscript', () => {
  it('trusts the uploader first, then the path, then the lines, then the file name', () => {
    const path = `/p/${session}.jsonl`;
    const idOf = (input: Omit<Parameters<typeof identifyTranscript>[0], 'head'>, head: Uint8Array = main) =>
      identifyTranscript({ ...input, head }).sessionId;
    expect(idOf({ sessionId: 'given', path })).toBe('given');
    expect(idOf({ sessionId: '', path })).toBe(session);
    expect(idOf({ path })).toBe(session);
    expect(idOf({ path: 'notes.jsonl' })).toBe('from-line');
    expect(idOf({})).toBe('from-line');
    expect(idOf({ path: 'notes.jsonl' }, Buffer.from('{}'))).toBe('notes');
    expect(idOf({}, Buffer.from('{}'))).toBeUndefined();
    expect(idOf({ path: '' }, Buffer.alloc(0))).toBeUndefined();
  });

  it('trusts the uploader, whatever the lines look like', () => {
    expect(identifyTranscript({ head: main, agent: 'openclaw' })).toMatchObject({ format: 'openclaw-session' });
    expect(identifyTranscript({ head: main, agent: 'claude-code' })).toMatchObject({ sessionId: 'from-line' });
    const nobodys = identifyTranscript({ head: Buffer.from('{"note":1}\n'), path: 'notes.jsonl' });
    expect(nobodys).toMatchObject({ format: undefined, isRecognised: false, sessionId: 'notes' });
  });

  it('recognises a main transcript', () => {
    expect(identifyTranscript({ head: main })).toEqual({
      format: 'claude-code',
      agent: 'claude-code',
      isRecognised: true,
      isPromptHistory: false,
      sessionId: 'from-line',
      isSubagent: false,
      parentSessionId: undefined,
      agentId: undefined,
      isConclusive: true,
    });
  });

  it('recognises a transcript by the beginning of a line that is longer than the head', () => {
    const content = 'x'.repeat(IDENTIFY_HEAD_BYTES);
    const line = JSON.stringify({ type: 'user', sessionId: 'from-line', message: { role: 'user', content } });
    const head = Buffer.from(line).subarray(0, IDENTIFY_HEAD_BYTES);
    expect(identifyTranscript({ head })).toMatchObject({ format: 'claude-code', sessionId: 'from-line' });
    expect(identifyTranscript({ head: head.subarray(1000) })).toMatchObject({ format: undefined });
  });

  it('recognises a sub-agent by its lines if the path does not say', () => {
    for (const path of [undefined, 'notes.jsonl']) {
      expect(identifyTranscript({ path, head: subagent })).toEqual({
        format: 'claude-code',
        agent: 'claude-code',
        isRecognised: true,
        isPromptHistory: false,
        sessionId: 'parent-from-line:a1',
        isSubagent: true,
        parentSessionId: 'parent-from-line',
        agentId: 'a1',
        isConclusive: true,
      });
    }
  });

  it('treats a transcript as a sub-agent’s only if its first message is marked so', () => {
    const named = { sessionId: 's', agentId: 'a1' };
    const heads = [
      toJsonl(userLine('hi', named)),
      toJsonl(userLine('hi', { ...named, isSidechain: false })),
      toJsonl(userLine('hi', { ...named, isSidechain: 'true' })),
      toJsonl(userLine('hi', { sessionId: 's', isSidechain: true })),
      // Older versions wrote sub-agents into the main session's transcript.
      toJsonl(userLine('hi', { sessionId: 's' }), userLine('explore', { ...named, isSidechain: true })),
    ];
    for (const head of heads) {
      expect(identifyTranscript({ head: Buffer.from(head) })).toMatchObject({
        sessionId: 's',
        isSubagent: false,
        agentId: undefined,
        parentSessionId: undefined,
      });
    }
  });

  it('lets the path decide whether it is a sub-agent', () => {
    expect(identifyTranscript({ path: `${session}.jsonl`, head: subagent })).toMatchObject({
      sessionId: session,
      isSubagent: false,
      agentId: undefined,
      parentSessionId: undefined,
    });
    expect(identifyTranscript({ path: `${session}/subagents/agent-b2.jsonl`, head: subagent })).toMatchObject({
      sessionId: `${session}:b2`,
      isSubagent: true,
      agentId: 'b2',
      parentSessionId: session,
    });
    expect(identifyTranscript({ path: 'agent-b2.jsonl', head: main })).toMatchObject({
      sessionId: 'from-line:b2',
      isSubagent: true,
      agentId: 'b2',
      parentSessionId: 'from-line',
    });
    expect(identifyTranscript({ path: 'agent-b2.jsonl', head: Buffer.alloc(0) })).toMatchObject({
      sessionId: 'agent-b2',
      isSubagent: true,
      parentSessionId: undefined,
    });
  });

  it('skips broken, empty, marked and glued lines', () => {
    const head = Buffer.concat([
      Buffer.from('\uFEFF// comment\n\n[1]\n"x"\n{"type":"mode"'),
      Buffer.from([0xff, 0x0a]),
      Buffer.from('{"type":"mode"}{"type":"user","sessionId":"s1"}\r\n{"sessionId":"torn'),
    ]);
    expect(identifyTranscript({ head })).toMatchObject({ format: 'claude-code', sessionId: 's1' });
    expect(identifyTranscript({ head: Buffer.from('\uFEFF{"sessionId":"s2"}') }).sessionId).toBe('s2');
  });

  it('tells other agents from Claude Code', () => {
    const head = Buffer.from(toJsonl({ type: 'session_meta', payload: { id: 'x' } }));
    expect(identifyTranscript({ path: 'rollout-1.jsonl', head })).toMatchObject({
      format: 'codex-rollout',
      sessionId: 'x',
      isSubagent: false,
      isConclusive: true,
    });
  });

  it('treats as a sub-agent one whose lines name its parent, whatever its file name', () => {
    const source = { subagent: { thread_spawn: { parent_thread_id: 'parent', depth: 1 } } };
    const own = { type: 'session_meta', payload: { id: 'child', source } };
    const head = Buffer.from(toJsonl(own, { type: 'session_meta', payload: { id: 'parent' } }));
    expect(identifyTranscript({ path: `${session}.jsonl`, head: head.subarray(0, 200) })).toMatchObject({
      isSubagent: true,
      parentSessionId: 'parent',
    });
    expect(identifyTranscript({ path: 'rollout-1.jsonl', head })).toMatchObject({
      sessionId: 'child',
      isSubagent: true,
      parentSessionId: 'parent',
    });
  });

  it('recognises what is not a transcript', () => {
    expect(identifyTranscript({ head: Buffer.from('no transcript at all') }).format).toBeUndefined();
  });

  it.each(['utf-16', 'utf-32', 'binary'] as const)(
    'recognises no transcript in %s, whatever its path says',
    (encoding) => {
      const heads = {
        'utf-16': Buffer.from('\uFEFF{"type":"user"}\n', 'utf16le'),
        'utf-32': Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x7b]),
        binary: Buffer.alloc(4096),
      };
      const path = '/home/x/.claude/projects/-x/11111111-1111-4111-8111-111111111111.jsonl';
      const identity = identifyTranscript({ path, agent: 'claude-code', head: heads[encoding] });
      expect(identity).toMatchObject({ encoding, format: undefined, isRecognised: false });
    },
  );

  it('reads lines behind a beginning of zeros, as after a power cut', () => {
    const line = '{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"hi"}}\n';
    const head = Buffer.concat([Buffer.alloc(600), Buffer.from(`\n${line}`)]);
    expect(identifyTranscript({ head })).toMatchObject({
      encoding: undefined,
      format: 'claude-code',
      isRecognised: true,
    });
  });

  it('returns ids that can be stored, which are bounded, without NUL or half a character', () => {
    const identity = identifyTranscript({ sessionId: `a\0${'x'.repeat(509)}🎉`, head: main });
    expect(identity.sessionId).toBe(`a\uFFFD${'x'.repeat(509)}\uFFFD`);
    const head = Buffer.from('{"type":"user","isSidechain":true,"sessionId":"s\\u0000","agentId":"\\ud83d"}');
    expect(identifyTranscript({ head })).toMatchObject({
      sessionId: 's\uFFFD:\uFFFD',
      parentSessionId: 's\uFFFD',
      agentId: '\uFFFD',
    });
  });

  it('is conclusive only if no longer head changes the answer', () => {
    const line = fc.constantFrom(
      '{"type":"mode"}',
      '{"type":"mode","sessionId":"s1"}',
      '{"type":"user","isSidechain":true,"agentId":"a1"}',
      '{"type":"user","sessionId":"s2"}{"type":"assistant"}',
      '{"type":"session_meta","payload":{}}',
      '// comment',
    );
    const sessionId = fc.constantFrom(undefined, 'given');
    const path = fc.constantFrom(undefined, 'notes.jsonl', `${session}.jsonl`, 'agent-b2.jsonl');
    fc.assert(
      fc.property(fc.array(line), sessionId, path, fc.nat({ max: 200 }), (lines, id, from, length) => {
        const whole = Buffer.from(lines.join('\n'));
        const identify = (head: Uint8Array) => identifyTranscript({ sessionId: id, path: from, head });
        const early = identify(whole.subarray(0, length));
        if (early.isConclusive) expect(identify(whole)).toEqual(early);
      }),
    );
  });

  it('never throws', () => {
    const line = fc.oneof(fc.json(), fc.string(), fc.constant('{"type":"user","sessionId":"s"'));
    fc.assert(
      fc.property(fc.array(line), fc.option(fc.string(), { nil: undefined }), fc.uint8Array(), (lines, path, rest) => {
        const head = Buffer.concat([Buffer.from(lines.join('\n')), rest]);
        expect(identifyTranscript({ path, head })).toHaveProperty('format');
      }),
    );
  });
});
