import type { UnreadType, UnreadTypes } from '../unread-lines.ts';

const types = (names: string, why: string, ...mayHold: string[]): UnreadTypes =>
  Object.fromEntries(names.split(' ').map((name): [string, UnreadType] => [name, { why, mayHold }]));

/**
 * Records of Kimi Code that are not read, from MoonshotAI/kimi-code `docs/wire-manifest.d.ts` (protocol 1.5) and
 * `agent/records/types.ts` (up to 1.4), and what version 2.1.0 wrote in a trial.
 */
export const KIMI_CODE_UNREAD: UnreadTypes = {
  ...types('metadata forked runtime.set_binding', 'how the file came about'),
  ...types(
    'agent.message.appended',
    'repeats prompts and answers, with their usage, as other programs see them',
    'message',
  ),
  ...types('agent.turn.started agent.turn.ended prompt.accepted prompt.completed turn.cancel', 'where turns end'),
  ...types('turn.begin turn.end turn.interrupted', 'where turns end, in earlier versions'),
  ...types(
    'context.append_loop_event/step.retrying context.append_loop_event/step.interrupted step.*',
    'an attempt that failed',
    ...['event.error', 'event.errorMessage'],
  ),
  ...types('turn.step.retrying', 'a request that failed and is sent again', 'errorMessage'),
  ...types('llm.tools_snapshot mcp.tools_discovered', 'which tools the model may call', 'tools', 'collisions'),
  ...types('plugin.session_start', 'a text of a plugin, which is part of the system prompt', 'content'),
  ...types(
    'tools.register_user_tool tools.unregister_user_tool tools.set_active_tools tools.reset_active_tools',
    'which tools the model may call',
    ...['description', 'parameters'],
  ),
  ...types('tools.update_store', 'repeats the input of TodoList', 'value'),
  ...types(
    'context.clear context.undo context.update_token_count micro_compaction.apply',
    'what the context lost',
    'tokenCount',
  ),
  ...types('full_compaction.begin full_compaction.cancel', 'where a compaction begins', 'instruction'),
  ...types('permission.set_mode plan_mode.* swarm_mode.* tower_mode.*', 'modes of the session'),
  ...types(
    'permission.record_approval_result',
    'leave to make a call, whose result says how it went',
    'action',
    'result',
  ),
  ...types('interaction.request interaction.resolved', 'a dialog; the call that asks, and its result, are read', '*'),
  ...types('plan.revision staleGuard.recorded staleGuard.cleared interruptionReminder.recorded', 'the state of files'),
  ...types(
    'goal.create goal.update goal.clear',
    'the goal of a session, which a message states as well; tokensUsed adds up requests that are read',
    ...['objective', 'completionCriterion', 'reason', 'tokensUsed'],
  ),
  ...types(
    'task.started task.terminated task.waitDelivered',
    'a task in the background; its call is read',
    'info',
    'outputTail',
  ),
  ...types(
    'cron.add cron.cursor cron.delete',
    'prompts for later, which are messages when they are sent',
    'task.prompt',
  ),
  ...types(
    'subagent.spawned subagent.started subagent.completed subagent.failed',
    'a sub-agent, which has its own file with its messages and usage',
    ...['description', 'resultSummary', 'usage', 'error', 'contextTokens'],
  ),
  ...types(
    'token_counting.measured token_counting.rebased token_counting.truncated token_counting.turn_recorded',
    'sizes of the context, which are no usage',
    'tokens',
  ),
  ...types('session.* skill.* approval.* hook.* task.* mcp.*', 'records of earlier versions about the program itself'),
};

/** Messages of Kimi CLI that are not read, from MoonshotAI/kimi-cli `src/kimi_cli/wire/types.py` (up to 1.49). */
export const KIMI_CLI_UNREAD: UnreadTypes = {
  ...types('metadata TurnEnd StepInterrupted CompactionEnd', 'where turns, steps and compactions end'),
  ...types('StepRetry', 'a request that failed and is sent again'),
  ...types('HookTriggered HookResolved', 'runs of hooks', 'message.payload.reason'),
  ...types('MCPLoadingBegin MCPLoadingEnd', 'connections to MCP servers'),
  ...types('PlanDisplay', 'a plan, which is in the file that the model wrote', 'message.payload.content'),
  ...types('ToolCallRequest', 'repeats the call', 'message.payload.arguments'),
};
