"""Images: tells from the name of a container's image which service it is. Pure.

Rule: nothing is run or fetched by that name; an image that is not in this table is no service.
"""

import re

_IMAGES = {
    "postgres": "postgres", "postgresql": "postgres", "postgis": "postgres", "pgvector": "postgres",
    "timescaledb": "postgres", "mysql": "mysql", "mysql-server": "mysql", "mariadb": "mysql", "percona": "mysql",
    "redis": "redis", "valkey": "redis", "memcached": "memcached",
    "mongo": "MongoDB", "mongodb": "MongoDB", "mongodb-community-server": "MongoDB", "rabbitmq": "RabbitMQ",
    "elasticsearch": "Elasticsearch", "opensearch": "OpenSearch", "kafka": "Kafka", "cp-kafka": "Kafka",
    "redpanda": "Redpanda", "zookeeper": "ZooKeeper", "minio": "MinIO", "localstack": "LocalStack", "nats": "NATS",
    "azure-sql-edge": "SQL Server", "oracle-free": "Oracle", "oracle-xe": "Oracle",
    "clickhouse-server": "ClickHouse", "cassandra": "Cassandra", "neo4j": "Neo4j", "meilisearch": "Meilisearch",
    "typesense": "Typesense", "mailhog": "MailHog", "mailpit": "Mailpit", "dynamodb-local": "DynamoDB",
    "cockroach": "CockroachDB", "keycloak": "Keycloak", "solr": "Solr", "selenium": "Selenium",
    "standalone-chrome": "Selenium", "browserless": "a browser", "qdrant": "Qdrant", "chroma": "Chroma",
    "influxdb": "InfluxDB", "couchdb": "CouchDB", "vault": "Vault", "consul": "Consul", "etcd": "etcd",
    "dragonfly": "redis", "keydb": "redis", "redis-stack": "Redis Stack", "redis-stack-server": "Redis Stack",
}  # fmt: skip
"""Services by the last part of the image's name."""
_WHOLE_NAMES = {"mssql/server": "SQL Server"}
_EXTENSIONS = {"postgis": "postgis", "pgvector": "vector", "timescaledb": "timescaledb"}
TITLES = {"postgres": "PostgreSQL", "mysql": "MySQL or MariaDB", "redis": "Redis", "memcached": "Memcached"}
_VERSION = re.compile(r"(?:pg|v)?([0-9]{1,4}(?:\.[0-9]{1,4}){0,2})(?![0-9])")


def service_of(image: str) -> tuple[str, str, str]:
    """Name, wanted version and extension of the service; empty if the image is none that is known."""
    path, _, tag = image.strip().partition("@")[0].rpartition(":")
    if not path or "/" in tag:  # no tag: the colon was in front of a port, or there was none
        path, tag = image.strip().partition("@")[0], ""
    *folders, last = path.lower().split("/")
    whole = "/".join([*folders, last][-2:])
    version = _VERSION.match(tag)
    return (
        _WHOLE_NAMES.get(whole, "") or _IMAGES.get(last, ""),
        version[1] if version else "",
        _EXTENSIONS.get(last, ""),
    )
