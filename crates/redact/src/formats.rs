//! Formats that are secrets by themselves, as a table. The patterns follow what the issuers document; the names are
//! those that gitleaks uses where it has the rule, so that people can look them up.

use std::sync::OnceLock;

use regex::Regex;

use crate::find::{Kind, Look, Span, begins_token};

/// One row: what to look for and how it goes on.
pub(crate) struct Format {
    pub kind: Kind,
    /// Words that every match begins with, in any case; the pattern decides on case.
    pub keywords: &'static [&'static str],
    /// The whole token, from the keyword on.
    pub pattern: &'static str,
    /// Characters that must not follow the token: it would be part of something longer.
    pub not_before: NotBefore,
}

/// What may not follow a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotBefore {
    /// Nothing is ruled out: the pattern takes all it can.
    Free,
    /// A letter, digit, `_` or `-`: the token has a fixed length.
    Word,
}

const fn row(
    name: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    not_before: NotBefore,
) -> Format {
    Format { kind: Kind::format(name), keywords, pattern, not_before }
}

use NotBefore::{Free, Word};

/// The table. Order does not matter.
pub(crate) const FORMATS: &[Format] = &[
    // Cloud
    row("aws-access-token", &["AKIA", "ASIA", "ABIA", "ACCA"], r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}", Word),
    row("gcp-api-key", &["AIza"], r"AIza[A-Za-z0-9_-]{35}", Word),
    row("gcp-oauth-token", &["ya29."], r"ya29\.[A-Za-z0-9_-]{20,}", Free),
    row("gcp-oauth-client-secret", &["GOCSPX-"], r"GOCSPX-[A-Za-z0-9_-]{20,}", Free),
    row("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{64}", Word),
    row("vault-token", &["hvs.", "hvb."], r"hv[sb]\.[A-Za-z0-9_-]{24,}", Free),
    row("databricks-api-token", &["dapi"], r"dapi[a-f0-9]{32}(?:-[0-9])?", Word),
    row("grafana-service-account-token", &["glsa_"], r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}", Word),
    row(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
        Word,
    ),
    row("sentry-token", &["sntrys_", "sntryu_"], r"sntry[su]_[A-Za-z0-9_+/=-]{40,}", Free),
    row("sendgrid-api-token", &["SG."], r"SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}", Word),
    row("age-secret-key", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[A-Z0-9]{58}", Word),
    row("linear-api-key", &["lin_api_"], r"lin_api_[A-Za-z0-9]{32,}", Free),
    // Git hosts
    row("github-pat", &["ghp_"], r"ghp_[A-Za-z0-9]{36,}", Free),
    row("github-oauth", &["gho_"], r"gho_[A-Za-z0-9]{36,}", Free),
    row("github-app-token", &["ghu_", "ghs_"], r"gh[us]_[A-Za-z0-9]{36,}", Free),
    row("github-refresh-token", &["ghr_"], r"ghr_[A-Za-z0-9]{36,}", Free),
    row("github-fine-grained-pat", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{36,}", Free),
    row(
        "gitlab-pat",
        &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glsoat-", "glagent-", "gloas-"],
        r"gl(?:pat|dt|rt|ptt|cbt|ft|soat|agent|oas)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,12}){0,2}",
        Free,
    ),
    row("bitbucket-token", &["ATBB", "ATCTT3"], r"AT(?:BB[A-Za-z0-9]{32}|CTT3[A-Za-z0-9_=-]{60,})", Free),
    // Model providers
    row("anthropic-api-key", &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{20,}", Free),
    row(
        "openai-api-key",
        &["sk-"],
        r"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})",
        Free,
    ),
    row("openrouter-api-key", &["sk-or-"], r"sk-or-(?:v[0-9]-)?[a-f0-9]{32,}", Free),
    row("huggingface-access-token", &["hf_"], r"hf_[A-Za-z0-9]{30,}", Free),
    row("groq-api-key", &["gsk_"], r"gsk_[A-Za-z0-9]{40,}", Free),
    row("xai-api-key", &["xai-"], r"xai-[A-Za-z0-9]{60,}", Free),
    row("perplexity-api-key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,}", Free),
    row("replicate-api-token", &["r8_"], r"r8_[A-Za-z0-9]{37}", Word),
    // Chat
    row("slack-token", &["xox"], r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}", Free),
    row("slack-app-token", &["xapp-"], r"xapp-[0-9]-[A-Za-z0-9-]{20,}", Free),
    row(
        "slack-webhook-url",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}",
        Free,
    ),
    row(
        "discord-webhook-url",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/[A-Za-z0-9_-]{40,}",
        Free,
    ),
    // Packages
    row("npm-access-token", &["npm_"], r"npm_[A-Za-z0-9]{36}", Word),
    row("pypi-upload-token", &["pypi-"], r"pypi-(?:AgE[A-Za-z0-9_-]{40,}|[A-Za-z0-9_-]{85,})", Free),
    row("crates-io-token", &["cio"], r"cio[A-Za-z0-9]{32}", Word),
    row("rubygems-api-token", &["rubygems_"], r"rubygems_[a-f0-9]{48}", Word),
    row("dockerhub-token", &["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[A-Za-z0-9_-]{24,}", Free),
    // Payment
    row(
        "stripe-access-token",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"],
        r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}",
        Free,
    ),
    row("stripe-webhook-secret", &["whsec_"], r"whsec_[A-Za-z0-9+/=]{24,}", Free),
    // Three parts of base64url; the first two are JSON objects and so begin with `eyJ` (RFC 7519). Encrypted ones
    // have five parts.
    row(
        "jwt",
        &["eyJ"],
        r"eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{8,}|[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})",
        Free,
    ),
];

/// The patterns, compiled when their keyword is first met: most stores never see most formats.
static PATTERNS: [OnceLock<Option<Regex>>; FORMATS.len()] = [const { OnceLock::new() }; FORMATS.len()];

fn pattern(index: usize) -> Option<&'static Regex> {
    PATTERNS[index].get_or_init(|| Regex::new(&format!("^(?:{})", FORMATS[index].pattern)).ok()).as_ref()
}

/// Tries row `index` at the keyword at `at`.
pub(crate) fn look(index: usize, text: &str, at: usize) -> Look {
    if !begins_token(text, at) {
        return Look { span: None, resume: at + 1 };
    }
    let format = &FORMATS[index];
    let rest = &text[at..];
    let token = pattern(index).and_then(|pattern| pattern.find(rest)).map(|found| found.end());
    match token {
        Some(length) if format.not_before == Free || !rest[length..].starts_with(is_word) => {
            let end = at + length;
            Look { span: Some(Span { start: at, end, kind: format.kind }), resume: end }
        }
        // A token begins a run of word characters, so no other one begins inside this run; stepping past it keeps
        // the time linear where a pattern has read far before it failed.
        _ => Look { span: None, resume: at + rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(1) },
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_has_keywords() {
        for (index, format) in FORMATS.iter().enumerate() {
            assert!(pattern(index).is_some(), "{}", format.kind.name);
            assert!(!format.keywords.is_empty(), "{}", format.kind.name);
        }
    }
}
