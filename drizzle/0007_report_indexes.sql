CREATE INDEX "message_rollup_time" ON "recount"."message_rollup" USING btree ("workspace_id","bucket_start");--> statement-breakpoint
CREATE INDEX "tool_calls_time" ON "recount"."tool_calls" USING btree ("workspace_id","timestamp") WHERE is_own;--> statement-breakpoint
CREATE INDEX "tool_calls_subagent" ON "recount"."tool_calls" USING btree ("workspace_id","session_id","subagent_id") WHERE subagent_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "tool_rollup_time" ON "recount"."tool_rollup" USING btree ("workspace_id","bucket_start");--> statement-breakpoint
CREATE INDEX "usage_ledger_subagent_time" ON "recount"."usage_ledger" USING btree ("workspace_id","timestamp") WHERE is_subagent;--> statement-breakpoint
CREATE INDEX "usage_rollup_time" ON "recount"."usage_rollup" USING btree ("workspace_id","bucket_start","session_id");