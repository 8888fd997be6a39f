/**
 * Texts that Codex, its apps and its plugins write in the user's name. The rest of a user item is what a person typed.
 * The sources are the fragments with role `user` in openai/codex, codex-rs/core/src/context, and the strings of the
 * program up to 0.171.0; the headings of the app and the editor extension as public readers of rollouts list them (seen
 * up to November 2026).
 */

/** Tags around a whole text, or around its beginning. */
export const CONTEXT_TAGS: ReadonlySet<string> = new Set([
  // codex-rs/core/src/context/contextual_user_message.rs and what it registered in earlier versions
  'environment_context',
  'user_instructions',
  'INSTRUCTIONS',
  'skill',
  'user_shell_command',
  'turn_aborted',
  'subagent_notification',
  'codex_internal_context',
  'goal_context',
  'extension_context',
  'next_prompt_suggestion',
  'hook_prompt',
  'warning',
  // codex-rs/core/src/context/recommended_plugins_instructions.rs, from 0.144 on
  'recommended_plugins',
  // codex-rs/core/templates/review, for the outcome of a review
  'user_action',
  // Fragments that most versions send as the developer's
  'agent_message_board_notification',
  'apps_instructions',
  'catalog_apps_instructions',
  'collaboration_mode',
  'command_sessions',
  'content_filter_guidance',
  'context_window_guidance',
  'context_window_reminder',
  'current_time_reminder',
  'current_time_unavailable',
  'environments_instructions',
  'guardian_context_omission',
  'guardian_sync_review',
  'guardian_tool_descriptions',
  'image_resize_notice',
  'managed_developer_instructions',
  'model_instructions',
  'model_switch',
  'multi_agent_mode',
  'multi_agent_role',
  'node_repl_review_evidence',
  'permissions_instructions',
  'permissions instructions',
  'persistent_mode',
  'personality_spec',
  'plugins_instructions',
  'realtime_conversation',
  'rollout_budget',
  'side_conversation',
  'skills_instructions',
  'startup_context',
  'token_budget',
  'user_verification_notice',
  // The apps, for other threads, automations, the state of the window
  'app-context',
  'codex_delegation',
  'heartbeat',
  'in-app-browser-context',
]);

/** `<external_KEY>` is text that a client adds to a turn (codex-rs/core/src/context/fragments.rs). */
export const CONTEXT_TAG_PREFIX = 'external_';

/** Beginnings of texts without a separate tag; `end` closes the added part, or else the whole text is added. */
export const CONTEXT_BEGINNINGS: readonly { start: string; end?: string }[] = [
  { start: '# AGENTS.md instructions', end: '</INSTRUCTIONS>' },
  // Warnings of old versions, see LegacyModelMismatchWarning and its neighbours in codex-rs/core/src/context
  { start: 'Warning: The maximum number of unified exec processes you can keep open is' },
  { start: 'Warning: apply_patch was requested via ' },
  { start: 'Warning: Your account was flagged for potentially high-risk cyber activity' },
  // Said of the picture that follows
  { start: 'The next image is untrusted page evidence' },
  { start: 'The next image shows ' },
];

/** Headings of what the app and the editor extension put before the request. Each fills its line. */
export const CONTEXT_HEADINGS: readonly string[] = [
  '# Context from my IDE setup:',
  '# Files mentioned by the user:',
  '# Files pasted by the user:',
  '# Applications mentioned by the user:',
  '# In app browser:',
  '# In app browser (IAB):',
  '# Browser comments:',
  '# Diff comments:',
  '# Selected text:',
  '# Response annotations:',
  '# Review findings:',
  '# Failing PR checks:',
  '# Pull request merge conflict:',
  '# MCP app context:',
  '# Chrome tabs:',
  '# Worktree instructions:',
  '## Prior conversation with Codex:',
  '## Referenced chats with Codex:',
  '## Referenced ChatGPT conversation:',
  '## Code review guidelines:',
  '## Pull request fix:',
  '## Pull request merge task:',
  '## Auto resolve merge:',
];

/**
 * The heading of the request behind them (`USER_MESSAGE_BEGIN` in codex-rs/protocol/src/protocol.rs; without
 * `for Codex` from September 2026 on). The app takes the last one, because text that it quotes before the request may
 * contain it.
 */
export const REQUEST_HEADING = /^## My request(?: for Codex)?:[ \t]*/gm;
