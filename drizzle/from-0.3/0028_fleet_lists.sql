CREATE INDEX "search_documents_time" ON "recount"."search_documents" USING btree ("workspace_id","timestamp" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "sessions_first_activity" ON "recount"."sessions" USING btree ("workspace_id",coalesce("first_timestamp", '1970-01-01Z'),"session_id");--> statement-breakpoint
CREATE INDEX "sessions_duration" ON "recount"."sessions" USING btree ("workspace_id","duration_ms","session_id");--> statement-breakpoint
CREATE INDEX "sessions_messages" ON "recount"."sessions" USING btree ("workspace_id","total_messages","session_id");--> statement-breakpoint
CREATE INDEX "sessions_tokens_out" ON "recount"."sessions" USING btree ("workspace_id","tokens_out","session_id");--> statement-breakpoint
CREATE INDEX "sessions_branch" ON "recount"."sessions" USING btree ("workspace_id","git_branch");--> statement-breakpoint
CREATE INDEX "sessions_machine" ON "recount"."sessions" USING btree ("workspace_id","machine") WHERE machine IS NOT NULL;--> statement-breakpoint
CREATE INDEX "transcripts_errors" ON "recount"."transcripts" USING btree ("workspace_id","id","error_count") WHERE error_count > 0;--> statement-breakpoint
CREATE INDEX "file_day_rollup_file" ON "recount"."file_day_rollup" USING btree ("workspace_id",left("file_path", 256));--> statement-breakpoint
CREATE INDEX "tool_day_rollup_tool" ON "recount"."tool_day_rollup" USING btree ("workspace_id","tool_name");--> statement-breakpoint
CREATE INDEX "tool_day_rollup_program" ON "recount"."tool_day_rollup" USING btree ("workspace_id","program") WHERE program IS NOT NULL;--> statement-breakpoint
CREATE INDEX "tool_day_rollup_mcp_server" ON "recount"."tool_day_rollup" USING btree ("workspace_id","mcp_server") WHERE mcp_server IS NOT NULL;--> statement-breakpoint
CREATE INDEX "tool_day_rollup_skill" ON "recount"."tool_day_rollup" USING btree ("workspace_id","skill_name") WHERE skill_name IS NOT NULL;--> statement-breakpoint
CREATE INDEX "tool_day_rollup_subagent" ON "recount"."tool_day_rollup" USING btree ("workspace_id","subagent_type") WHERE subagent_type IS NOT NULL;--> statement-breakpoint
CREATE INDEX "session_events_api_error" ON "recount"."session_events" USING btree ("workspace_id","session_id") WHERE kind = 'api_error';--> statement-breakpoint
CREATE INDEX "session_events_pull_request" ON "recount"."session_events" USING btree ("workspace_id","name") WHERE kind = 'pull_request';