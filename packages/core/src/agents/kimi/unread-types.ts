import { type UnreadTypes, unread } from '../unread-lines.ts';

/**
 * Records of Kimi Code that are not read, from MoonshotAI/kimi-code `docs/wire-manifest.d.ts` (protocol 1.5) and
 * `agent/records/types.ts` (up to 1.4), and what version 2.1.0 wrote in a trial.
 */
export const KIMI_CODE_UNREAD: UnreadTypes = {
  ...unread('metadata forked runtime.set_binding', 'how the file came about'),
  ...unread(
    'agent.message.appended',
    'repeats prompts and answers, with their usage, as other programs see them',
    'message',
  ),
  ...unread('agent.turn.started agent.turn.ended prompt.accepted prompt.completed turn.cancel', 'where turns end'),
  ...unread('turn.begin turn.end turn.interrupted', 'where turns end, in earlier versions'),
  ...unread(
    'context.append_loop_event/step.retrying context.append_loop_event/step.interrupted step.*',
    'an attempt that failed',
    ...['event.error', 'event.errorMessage'],
  ),
  ...unread('turn.step.retrying', 'a request that failed and is sent again', 'errorMessage'),
  ...unread('llm.tools_snapshot mcp.tools_discovered', 'which tools the model may call', 'tools', 'collisions'),
  ...unread('plugin.session_start', 'a text of a plugin, which is part of the system prompt', 'content'),
  ...unread(
    'tools.register_user_tool tools.unregister_user_tool tools.set_active_tools tools.reset_active_tools',
    'which tools the model may call',
    ...['description', 'parameters'],
  ),
  ...unread('tools.update_store', 'repeats the input of TodoList', 'value'),
  ...unread(
    'context.clear context.undo context.update_token_count micro_compaction.apply',
    'what the context lost',
    'tokenCount',
  ),
  ...unread('full_compaction.begin full_compaction.cancel', 'where a compaction begins', 'instruction'),
  ...unread('permission.set_mode plan_mode.* swarm_mode.* tower_mode.*', 'modes of the session'),
  ...unread(
    'permission.record_approval_result',
    'leave to make a call, whose result says how it went',
    'action',
    'result',
  ),
  ...unread('interaction.request interaction.resolved', 'a dialog; the call that asks, and its result, are read', '*'),
  ...unread('plan.revision staleGuard.recorded staleGuard.cleared interruptionReminder.recorded', 'the state of files'),
  ...unread(
    'goal.create goal.update goal.clear',
    'the goal of a session, which a message states as well; tokensUsed adds up requests that are read',
    ...['objective', 'completionCriterion', 'reason', 'tokensUsed'],
  ),
  ...unread(
    'task.started task.terminated task.waitDelivered',
    'a task in the background; its call is read',
    'info',
    'outputTail',
  ),
  ...unread(
    'cron.add cron.cursor cron.delete',
    'prompts for later, which are messages when they are sent',
    'task.prompt',
  ),
  ...unread(
    'subagent.spawned subagent.started subagent.completed subagent.failed',
    'a sub-agent, which has its own file with its messages and usage',
    ...['description', 'resultSummary', 'usage', 'error', 'contextTokens'],
  ),
  ...unread(
    'token_counting.measured token_counting.rebased token_counting.truncated token_counting.turn_recorded',
    'sizes of the context, which are no usage',
    'tokens',
  ),
  ...unread('session.* skill.* approval.* hook.* task.* mcp.*', 'records of earlier versions about the program itself'),
};

/** Messages of Kimi CLI that are not read, from MoonshotAI/kimi-cli `src/kimi_cli/wire/types.py` (up to 1.49). */
export const KIMI_CLI_UNREAD: UnreadTypes = {
  ...unread('metadata TurnEnd StepInterrupted CompactionEnd', 'where turns, steps and compactions end'),
  ...unread('StepRetry', 'a request that failed and is sent again'),
  ...unread('HookTriggered HookResolved', 'runs of hooks', 'message.payload.reason'),
  ...unread('MCPLoadingBegin MCPLoadingEnd', 'connections to MCP servers'),
  ...unread('PlanDisplay', 'a plan, which is in the file that the model wrote', 'message.payload.content'),
  ...unread('ToolCallRequest', 'repeats the call', 'message.payload.arguments'),
};
