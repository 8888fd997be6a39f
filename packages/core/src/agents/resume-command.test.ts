import { expect, it } from 'vitest';
import { toResumeCommand } from './resume-command.ts';

const ID = '0b7f6c1e-1111-4222-8333-444444444444';

it.each([
  ['claude-code', `claude --resume ${ID}`],
  ['codex', `codex resume ${ID}`],
  ['copilot', `copilot --resume=${ID}`],
  ['gemini', `gemini --resume ${ID}`],
  ['opencode', `opencode --session ${ID}`],
  ['pi', `pi --session ${ID}`],
  ['qwen', `qwen --resume ${ID}`],
])('resumes a session of %s by its own command', (agent, command) => {
  expect(toResumeCommand(agent, ID)).toBe(command);
});

it.each(['a b', '$(rm -rf .)', "a'b", '-p', 'a;b', 'a\nb'])('makes no command of the id %j', (id) => {
  expect(toResumeCommand('claude-code', id)).toBeNull();
});

it('knows no command of other agents', () => {
  expect(toResumeCommand('cline', ID)).toBeNull();
});
