-- Columns named like the fields of `Run`: a group's name, then the field's.
ALTER TABLE runs RENAME COLUMN cause            TO wait_reason;
ALTER TABLE runs RENAME COLUMN errand           TO purpose;
ALTER TABLE runs RENAME COLUMN approved         TO plan_approved;
ALTER TABLE runs RENAME COLUMN given            TO handback_comment;
ALTER TABLE runs RENAME COLUMN extent           TO diff_stat;
ALTER TABLE runs RENAME COLUMN strangers        TO refused_users;
ALTER TABLE runs RENAME COLUMN vouched          TO consent_requester_approved_by;
ALTER TABLE runs RENAME COLUMN accepted         TO consent_accepted_edit;
ALTER TABLE runs RENAME COLUMN ignored          TO consent_ignored_edit;
ALTER TABLE runs RENAME COLUMN asked_about      TO consent_asked_for;
ALTER TABLE runs RENAME COLUMN held             TO hold_objections;
ALTER TABLE runs RENAME COLUMN allowed          TO hold_allowed;
ALTER TABLE runs RENAME COLUMN words            TO hold_agent_summary;
ALTER TABLE runs RENAME COLUMN fixes            TO checks_ci_fix_attempts;
ALTER TABLE runs RENAME COLUMN fixed            TO checks_ci_fixed_head;
ALTER TABLE runs RENAME COLUMN merged           TO checks_merge_fixed_head;
ALTER TABLE runs RENAME COLUMN verification     TO checks_verification;
ALTER TABLE runs RENAME COLUMN rounds           TO checks_verify_attempts;
ALTER TABLE runs RENAME COLUMN facts            TO checks_shown_digest;
ALTER TABLE runs RENAME COLUMN turn             TO turns_number;
ALTER TABLE runs RENAME COLUMN ended            TO turns_ended;
ALTER TABLE runs RENAME COLUMN turn_at          TO turns_started_at;
ALTER TABLE runs RENAME COLUMN failures         TO turns_failures;
ALTER TABLE runs RENAME COLUMN losses           TO turns_losses;
ALTER TABLE runs RENAME COLUMN lost_at          TO turns_lost_at;
ALTER TABLE runs RENAME COLUMN not_before       TO turns_not_before;
ALTER TABLE runs RENAME COLUMN spent_usd        TO spend_usd;
ALTER TABLE runs RENAME COLUMN tokens           TO spend_tokens;
ALTER TABLE runs RENAME COLUMN seconds          TO spend_seconds;
ALTER TABLE runs RENAME COLUMN session_cost_usd TO spend_session_cost_usd;
ALTER TABLE runs RENAME COLUMN shown            TO status_digest;
ALTER TABLE runs RENAME COLUMN shown_at         TO status_shown_at;

ALTER TABLE heard RENAME TO comment_records;

ALTER TABLE endings RENAME TO turn_outcomes;
DROP INDEX endings_of_projects;
CREATE INDEX turn_outcomes_of_projects ON turn_outcomes (project, at, failure);
DROP TRIGGER endings_are_never_changed;
DROP TRIGGER endings_are_never_removed;
CREATE TRIGGER turn_outcomes_are_never_changed BEFORE UPDATE ON turn_outcomes BEGIN SELECT RAISE(ABORT, 'turn outcomes are only added'); END;
CREATE TRIGGER turn_outcomes_are_never_removed BEFORE DELETE ON turn_outcomes BEGIN SELECT RAISE(ABORT, 'turn outcomes are only added'); END;

ALTER TABLE tidings RENAME TO notifications;
ALTER TABLE notifications RENAME COLUMN happening TO kind;
ALTER TABLE notifications RENAME COLUMN occasion  TO dedup_key;
ALTER TABLE notifications RENAME COLUMN words     TO text;
ALTER TABLE notifications RENAME COLUMN over      TO resolved;

ALTER TABLE channels RENAME COLUMN told    TO delivered;
ALTER TABLE channels RENAME COLUMN trying  TO sending;
ALTER TABLE channels RENAME COLUMN doubted TO unconfirmed;

ALTER TABLE health RENAME COLUMN still TO still_works;
ALTER TABLE health RENAME COLUMN told  TO notified;
