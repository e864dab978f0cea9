"""Builds a project's workspaces: its mirror and worktrees, with the limits on what may be published."""

from bot.publish_guard.protected_paths import PublishRules
from bot.secret_scan.scanner import Secrets
from bot.settings.schema import ProjectSettings, Settings
from bot.workspace.lfs_remote import has_program
from bot.workspace.workspaces import GitWorkspaces


def build_workspaces(settings: Settings, project: ProjectSettings, secrets: Secrets) -> GitWorkspaces:
    rules = publish_rules(settings, project)
    return GitWorkspaces(settings.state_dir, project.name, rules=rules, secrets=secrets)


def publish_rules(settings: Settings, project: ProjectSettings) -> PublishRules:
    return PublishRules(
        project.protected,
        settings.limits.changed_files,
        settings.limits.changed_mb,
        uploads_lfs=project.folder is not None or has_program(),
    )
