import { describe, expect, it } from 'vitest';
import { readClaudeCodePath } from './transcript-path.ts';

const session = '0ccf1a04-1b4c-43b6-8aa5-79e41db43a68';

describe('readClaudeCodePath', () => {
  it.each([
    `/home/u/.claude/projects/-srv-app/${session}.jsonl`,
    `C:\\Users\\u\\.claude\\projects\\-srv-app\\${session}.jsonl`,
    `${session}.jsonl.gz`,
    `./${session.toUpperCase()}.JSONL.ZST`,
    session,
  ])('takes the session of a main transcript from its name: %s', (path) => {
    expect(readClaudeCodePath(path)).toMatchObject({
      sessionId: session,
      isSubagent: false,
      parentSessionId: undefined,
      agentId: undefined,
    });
  });

  it.each([
    [`/p/${session}/subagents/agent-a5bdbc1.jsonl`, 'a5bdbc1'],
    [`p\\${session}\\subagents\\agent-a5bdbc1.jsonl.zst`, 'a5bdbc1'],
    [`${session}/subagents/workflows/wf_1/agent-7.jsonl`, '7'],
    [`${session}/subagents/workflows/wf_1/journal.jsonl`, 'wf_1/journal'],
  ])('links a sub-agent to the session whose folder it is in: %s', (path, agentId) => {
    expect(readClaudeCodePath(path)).toMatchObject({
      sessionId: `${session}:${agentId}`,
      isSubagent: true,
      parentSessionId: session,
      agentId,
    });
  });

  it.each(['agent-b7c.jsonl', '/p/-srv-app/agent-b7c.jsonl.gz', 'subagents/agent-b7c.jsonl'])(
    'leaves the parent of a flat sub-agent file to the lines: %s',
    (path) => {
      expect(readClaudeCodePath(path)).toMatchObject({
        sessionId: undefined,
        isSubagent: true,
        parentSessionId: undefined,
        agentId: 'b7c',
      });
    },
  );

  it.each([
    ['notes.jsonl', 'notes'],
    ['a/b/full-session.two.jsonl', 'full-session.two'],
    ['subagents', 'subagents'],
    ['x/subagents', 'subagents'],
    ['', ''],
    ['///', ''],
    ['.jsonl', ''],
    ['agent-.jsonl', 'agent-'],
  ])('returns nothing for other names: %j', (path, stem) => {
    expect(readClaudeCodePath(path)).toEqual({
      sessionId: undefined,
      isSubagent: false,
      parentSessionId: undefined,
      agentId: undefined,
      stem,
    });
  });
});
